"""The model against the product, on random streams.

``MSGX_MODEL_MESSAGES`` messages in all (default 2,400; ``make model``: 100,000), a quarter of them each under
``retain``, under ``ledger``, with changes between the two, and with the eight switches set one by one.
``MSGX_MODEL_SEED`` repeats a run. A failure prints its seed and a minimal stream, which belongs into
``test_counterexamples.py`` under a name.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from .harness import Difference, Setup, check_stream
from .messages import FLIDS, MANY_FLIDS, Deliver, Drawn, Generator, Replay, Seeded, SetPolicy, TrustWindow, Wait

if TYPE_CHECKING:
    from .harness import Databases
    from .messages import Step

MESSAGES = int(os.environ.get("MSGX_MODEL_MESSAGES", "2400"))
SEED = int(os.environ.get("MSGX_MODEL_SEED", "1"))
STREAM = 120
"""Steps of one stream, each on a new database."""


@pytest.mark.timeout(240 + MESSAGES // 10)
@pytest.mark.parametrize("policy", ["retain", "ledger", "presets", "switches"])
def test_random_streams(databases: Databases, policy: str) -> None:
    done = number = 0
    while done < MESSAGES // 4:
        number += 1
        switching = policy if policy in ("presets", "switches") else "never"
        flids = MANY_FLIDS if number % 7 == 0 else FLIDS
        generator = Generator(Seeded(SEED * 1_000_000 + number), switching, flids)
        start = {"presets": ("retain", "ledger")[number % 2], "switches": generator.any_policy()}.get(policy, policy)
        cutover = "04:00" if number % 4 == 0 else "00:00"
        zone = "Europe/Berlin" if number % 5 == 0 else "Asia/Shanghai"
        chunk = (1, 5, 40)[number % 3]  # one message a pump, or many that share commits: both must come to the same
        try:
            done += check_stream(databases, Setup(start, cutover, zone), generator.stream(STREAM), chunk)
        except AssertionError as error:
            error.add_note(f"found by stream {number} of MSGX_MODEL_SEED={SEED}, {policy}")
            raise
    print(f"{policy}: {done} messages in {number} streams, no difference")


def test_hypothesis_streams(databases: Databases) -> None:
    """Hypothesis chooses other streams than chance does. Its shrinking takes too many databases: ours is used."""

    class Streams(RuleBasedStateMachine):
        @initialize(policy=st.sampled_from(["retain", "ledger"]))
        def start(self, policy: str) -> None:
            self.setup = Setup(policy)
            self.steps: list[Step] = []
            self.opened = self.setup.bench(databases)
            self.bench = self.opened.__enter__()

        def teardown(self) -> None:
            if hasattr(self, "bench"):
                self.opened.__exit__(None, None, None)

        def play(self, step: Step) -> None:
            self.steps.append(step)
            try:
                self.bench.run([step], chunk=1)
            except Difference:
                check_stream(databases, self.setup, self.steps)
                raise

        def generator(self, data: st.DataObject) -> Generator:
            generator = Generator(Drawn(data))
            generator.sent = list(self.bench.model.received.values())
            generator.count = self.bench.play.last_id
            return generator

        @rule(data=st.data(), kind=st.sampled_from(["a_plan", "an_adft", "a_flop", "an_fdel", "a_resend", "an_other"]))
        def send(self, kind: str, data: st.DataObject) -> None:
            generator = self.generator(data)
            self.play(Deliver(generator.finish(getattr(generator, kind)())))

        @rule(data=st.data())
        def request(self, data: st.DataObject) -> None:
            self.play(self.generator(data).a_request())

        @rule(
            step=st.one_of(
                st.builds(SetPolicy, st.sampled_from(["retain", "ledger"])),
                st.builds(TrustWindow, st.booleans()),
                st.builds(Replay, st.integers(0, 9)),
                st.builds(Wait, st.sampled_from([1, 25])),
            )
        )
        def turn(self, step: Step) -> None:
            self.play(step)

    run_state_machine_as_test(
        Streams,
        settings=hypothesis.settings(
            max_examples=max(20, MESSAGES // 500),
            stateful_step_count=25,
            phases=[hypothesis.Phase.generate],
            deadline=None,
            database=None,
            derandomize="MSGX_MODEL_MESSAGES" not in os.environ,
            suppress_health_check=list(hypothesis.HealthCheck),
        ),
    )
