"""Loads the routines after plain ``yoyo apply``, through the same code as ``msgx db apply``.

yoyo runs this only when a numbered migration was pending; ``msgx db apply`` looks at the routines each time.
"""

from __future__ import annotations

from yoyo import step

from supervisor.deploy import load_routines

step(load_routines)
