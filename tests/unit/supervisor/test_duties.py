"""What runs the duties: hung ones, failing ones, nudges, clocks, stops (pitfalls 35, 37)."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, cast

import pytest

from supervisor import database
from supervisor.config import Settings, Supervisor
from supervisor.duties import Board, Duty, Outcome, Trouble, Work
from supervisor.errors import StaleEpoch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from supervisor.lease import LeaseKeeper


class Keeper:
    """A leadership that tests give and take."""

    def __init__(self) -> None:
        self.epoch: int | None = 1
        self.lost: list[int] = []

    def holds(self) -> bool:
        return self.epoch is not None

    def lose(self, epoch: int, _why: str) -> None:
        self.lost.append(epoch)
        self.epoch = None


class Scripted(Duty):
    """A duty that does what the test says."""

    def __init__(
        self, name: str, act: Callable[[Work], Outcome | None], *, interval: float = 0.05, limit: float = 5.0
    ) -> None:
        super(Duty, self).__init__()
        self.name = name
        self.interval = interval
        self.limit = limit
        self.session = cast("Any", NoSession())
        from supervisor.logs import logger

        self.log = logger(duty=name)
        self._act = act
        self.runs: list[float] = []
        self.interrupted = 0

    def run(self, work: Work) -> Outcome:
        self.runs.append(time.monotonic())
        return self._act(work) or Outcome()

    def interrupt(self) -> None:
        self.interrupted += 1

    def close(self) -> None:
        pass


class NoSession:
    """Stands for a database that nobody asks."""

    connection = None

    def close(self) -> None:
        pass

    def sever(self) -> bool:
        return False


@pytest.fixture(autouse=True)
def _no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "duty_report", lambda *_arguments: None)


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


@pytest.fixture
def board(keeper: Keeper) -> Iterator[Board]:
    settings = Settings(supervisor=Supervisor(retry_delay=0.05))
    made = Board(settings, cast("LeaseKeeper", keeper))
    yield made
    if made.started and not made.stopping.is_set():
        made.stop(2)


def until(condition: Callable[[], bool], wait: float = 5.0) -> None:
    end = time.monotonic() + wait
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def test_a_hung_duty_takes_nothing_from_the_others(board: Board) -> None:
    release = threading.Event()
    hung = Scripted("pump", lambda _work: release.wait(30) and None, limit=0.2)
    others = [Scripted(f"other-{number}", lambda _work: None) for number in range(7)]
    board.add([hung, *others])
    board.start()
    until(lambda: bool(hung.runs))
    before = [len(other.runs) for other in others]
    time.sleep(0.6)
    board.watch()
    assert [one.name for one in board.hung()] == ["pump"]
    assert all(len(other.runs) - count >= 5 for other, count in zip(others, before, strict=True))
    assert len(hung.runs) == 1
    release.set()
    until(lambda: len(hung.runs) > 2)
    board.watch()
    assert board.hung() == []


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), Trouble("the broker is away")])
def test_whatever_it_raises_it_runs_again(board: Board, error: BaseException) -> None:
    def act(_work: Work) -> None:
        if len(duty.runs) <= 50:
            raise error

    duty = Scripted("pump", act, interval=0.01)
    board.retry_delay = 0.0001
    board.add([duty])
    board.start()
    until(lambda: len(duty.runs) >= 20, 20)
    board.retry_delay = 0.0
    board.runner("pump")._longest_delay = 0.001
    until(lambda: len(duty.runs) >= 53, 30)
    until(lambda: board.health()[0].failures == 0)


def test_a_failing_duty_backs_off_and_is_not_hurried(board: Board) -> None:
    def act(_work: Work) -> None:
        raise Trouble("no broker")

    duty = Scripted("pump", act, interval=0.01)
    board.retry_delay = 0.2
    board.add([duty])
    board.start()
    until(lambda: len(duty.runs) == 1)
    for _ in range(50):
        board.nudge("pump")
        time.sleep(0.005)
    assert len(duty.runs) <= 2
    until(lambda: len(duty.runs) >= 3)
    gaps = [later - earlier for earlier, later in zip(duty.runs, duty.runs[1:], strict=False)]
    assert gaps[0] >= 0.19
    assert gaps[1] >= 0.39
    assert board.health()[0].trouble == "no broker"
    board.runner("pump").hurry()  # a new leadership does not wait
    count = len(duty.runs)
    until(lambda: len(duty.runs) > count, 0.5)


def test_no_nudge_is_lost(board: Board) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def act(_work: Work) -> None:
        begun.set()
        go_on.wait(5)

    duty = Scripted("pump", act, interval=60)
    board.add([duty])
    board.start()
    assert begun.wait(5)
    board.nudge("pump")  # in the middle of a run: the run may have looked already
    go_on.set()
    until(lambda: len(duty.runs) == 2)
    time.sleep(0.1)
    assert len(duty.runs) == 2
    board.nudge("pump")
    until(lambda: len(duty.runs) == 3)


def test_more_work_and_a_known_time(board: Board) -> None:
    answers = [Outcome(1, again=True), Outcome(1, again=True), Outcome(1, wake_in=0.2), Outcome()]
    duty = Scripted("pump", lambda _work: answers.pop(0) if answers else None, interval=60)
    board.add([duty])
    board.start()
    until(lambda: len(duty.runs) == 4)
    assert duty.runs[2] - duty.runs[0] < 0.5
    assert duty.runs[3] - duty.runs[2] >= 0.19
    assert board.health()[0].done == 3


def test_a_wall_clock_that_is_set_back(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    duty = Scripted("pump", lambda _work: None, interval=0.05)
    board.add([duty])
    board.start()
    until(lambda: bool(duty.runs))
    board._scheduler.get_job("pump").modify(next_run_time=None)  # as far away as it can be
    time.sleep(0.2)
    count = len(duty.runs)
    monkeypatch.setattr("supervisor.duties.CLOCK_SLACK", 0.0)
    time.sleep(0.1)
    board.watch()
    until(lambda: len(duty.runs) > count)


def test_without_a_lease_nothing_runs(board: Board, keeper: Keeper) -> None:
    keeper.epoch = None
    duty = Scripted("pump", lambda _work: None)
    board.add([duty])
    board.start()
    time.sleep(0.3)
    assert duty.runs == []
    keeper.epoch = 2
    board.lead()
    until(lambda: bool(duty.runs))


def test_a_stale_epoch_ends_leadership_at_once(board: Board, keeper: Keeper) -> None:
    def act(_work: Work) -> None:
        raise StaleEpoch("over")

    duty = Scripted("pump", act, interval=0.02)
    board.add([duty])
    board.start()
    until(lambda: keeper.lost == [1])
    time.sleep(0.2)
    assert len(duty.runs) == 1
    assert board.health()[0].failures == 0


def test_a_run_sees_that_the_lease_is_over(board: Board, keeper: Keeper) -> None:
    ended = threading.Event()

    def act(work: Work) -> None:
        while work.has_time:
            time.sleep(0.01)
        ended.set()

    board.budget = 60
    board.add([Scripted("pump", act)])
    board.start()
    time.sleep(0.1)
    keeper.epoch = None
    assert ended.wait(1)


def test_stop_waits_for_what_runs_and_names_what_will_not_end(board: Board) -> None:
    release = threading.Event()
    good = Scripted("intake", lambda work: _while(lambda: work.goes_on))
    bad = Scripted("backfill", lambda _work: release.wait(30) and None)
    board.add([good, bad])
    board.start()
    until(lambda: bool(good.runs and bad.runs))
    began = time.monotonic()
    assert board.stop(1.5) == ["backfill"]
    assert time.monotonic() - began < 2.5
    assert bad.interrupted == 1
    assert good.interrupted == 0
    release.set()
    until(lambda: not board.runner("backfill").running)
    board.nudge("intake")  # too late, and without a word
    time.sleep(0.1)
    assert len(good.runs) == 1


def test_a_run_that_a_stop_cuts_short_is_no_failure(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[tuple[Any, ...]] = []
    monkeypatch.setattr(database, "duty_report", lambda *arguments: reports.append(arguments))
    began = threading.Event()

    def cut(work: Work) -> None:
        began.set()
        _while(lambda: work.goes_on)
        raise Trouble("the answer was not waited for")

    board.add([Scripted("relay-msg", cut)])
    board.start()
    assert began.wait(5)
    assert board.stop(2) == []
    assert reports == []
    assert [one.failures for one in board.health()] == [0]


def _while(condition: Callable[[], bool]) -> None:
    while condition():
        time.sleep(0.01)
