"""The simulated day: the same for a seed, readable by our own decoder, and true to the CSV."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from datetime import date, datetime
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from demo.simulator import Stream, available, simulate, source
from demo.simulator.plan import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

BLIZZARD = date(2013, 2, 8)
DAYS = [(airport, day) for airport, days in available().items() for day in days]
FORBIDDEN_IN_FLOP = (
    "GTDT",
    "CKDT",
    "CLDT",
    "CHDT",
    "PSDT",
)  # implementation.md 12.2: only a plan or an ADFT brings them

EXPECTED = (  # each of these is said of some flight on any day
    *("ESTT", "BOTM", "LACL", "ACTT", "STND", "RENO", "CNCL", "TAOP", "FLTY", "ACFT", "REMC", "MAXP", "HNAG"),
    *("DELY", "CHOT", "ABTM", "NAAT", "FDEL"),
)


def parsed(stream: Stream) -> Iterator[etree._Element]:
    for message in stream:
        yield etree.fromstring(re.sub(r"^\s*(<\?xml.*?\?>)?\s*", "", message.xml))


def key(message: etree._Element) -> tuple[str, str]:
    return message.findtext("META/TYPE") or "", message.findtext("META/STYP") or ""


def local(text: str, stream: Stream) -> datetime:
    return datetime.strptime(text, "%d%b%y%H%M").replace(tzinfo=stream.zone)


@pytest.fixture(scope="module")
def blizzard() -> Stream:
    return simulate("JFK", BLIZZARD)


@pytest.fixture(scope="module")
def trees(blizzard: Stream) -> list[etree._Element]:
    return list(parsed(blizzard))


def test_same_seed_same_bytes() -> None:
    one, other = simulate(flights=25, seed=7), simulate(flights=25, seed=7)
    assert list(one) == list(one) == list(other)
    assert one.truth() == other.truth()


def test_another_seed_draws_anew_but_keeps_what_is_real() -> None:
    one, other = simulate(seed=1), simulate(seed=2)
    assert [message.xml for message in one] != [message.xml for message in other]
    kept = one.truth().departures
    assert kept == other.truth().departures
    assert one.truth().cancelled_departures == other.truth().cancelled_departures
    for flid in kept & one.truth().departed.keys():
        assert one.truth().departed[flid] == other.truth().departed[flid]


def test_a_shortened_day_says_the_same_of_the_flights_it_keeps(blizzard: Stream) -> None:
    short = simulate("JFK", BLIZZARD, flights=30)
    assert len(short.truth().departures) == 30
    full = {flight.flid: flight for flight in blizzard.planned}
    for flight in short.planned:
        if flight.role is not Role.FERRY:
            assert flight == full[flight.flid]


def test_knows_how_many_it_has(blizzard: Stream, trees: list[etree._Element]) -> None:
    assert len(trees) == len(blizzard)


def test_the_truth_of_the_blizzard(blizzard: Stream) -> None:
    truth = blizzard.truth()
    assert len(truth.departures) == 304
    assert len(truth.cancelled_departures) == 159
    assert len(truth.departed.keys() & truth.departures) == 145
    for child, main in truth.code_shares.items():
        if child in truth.withdrawn:
            assert child not in truth.cancelled
            assert child not in truth.departed
        else:
            assert (child in truth.cancelled) == (main in truth.cancelled)
            assert truth.departed.get(child) == truth.departed.get(main)


@pytest.mark.parametrize(("airport", "day"), DAYS)
def test_every_day_can_be_simulated(airport: str, day: date) -> None:
    stream = simulate(airport, day)
    real = source.departures(airport, day)
    truth = stream.truth()
    assert len(truth.departures) == len(real)
    assert len(truth.cancelled_departures) == sum(flight.actual is None for flight in real)
    assert sorted(truth.departed[flid] for flid in truth.departed.keys() & truth.departures) == sorted(
        flight.actual for flight in real if flight.actual
    )
    assert 10 <= len(stream) / len(stream.planned) <= 15
    assert 0.22 <= len(truth.code_shares) / len(truth.departures) <= 0.38
    assert len({flight.flid for flight in stream.planned}) == len(stream.planned)


def test_the_messages_of_the_day_lead_to_the_truth(blizzard: Stream, trees: list[etree._Element]) -> None:
    """Read in order, last word wins: an independent check of the story against the CSV."""
    cancelled: dict[str, str] = {}
    departed: dict[str, str] = {}
    for message in trees:
        flid = message.findtext("FLOP/FLID")
        for tag, where in (("CNCL", cancelled), ("ACTT", departed)):
            value = message.findtext(f"FLOP/{tag}")
            if flid is not None and value is not None:
                where[flid] = value
    truth = blizzard.truth()
    gone = {str(flid) for flid in truth.withdrawn}
    assert {int(flid) for flid, value in cancelled.items() if value and flid not in gone} == truth.cancelled
    assert {
        int(flid): local(value, blizzard) for flid, value in departed.items() if int(flid) not in truth.arrivals
    } == truth.departed
    assert sum(value == "" for value in cancelled.values()) > 0, "no cancellation is taken back for good"


def test_time_order_numbers_and_repeats(blizzard: Stream, trees: list[etree._Element]) -> None:
    messages = list(blizzard)
    times = [message.at for message in messages]
    assert times == sorted(times)
    assert {time.tzinfo for time in times} == {blizzard.zone}
    seen: dict[int, str] = {}
    repeated = 0
    highest = 0
    for message, tree in zip(messages, trees, strict=True):
        seqn = int(tree.findtext("META/SEQN") or "")
        if seqn in seen:
            repeated += 1
            assert message.xml == seen[seqn]
        else:
            assert seqn == highest + 1 or not seen
            highest = seqn
            seen[seqn] = message.xml
            assert tree.findtext("META/DTTM") == f"{message.at:%Y%m%d%H%M%S}"
    assert repeated >= 3


def test_one_day_plan_at_the_start(blizzard: Stream, trees: list[etree._Element]) -> None:
    keys = [key(message) for message in trees]
    assert keys[:2] == [("REGN", "DNLD"), ("SCHD", "DNLD")]
    assert Counter(keys)["SCHD", "DNLD"] == 1
    plan = next(message for message in trees if key(message) == ("SCHD", "DNLD"))
    assert int(plan.findtext("SCHD/RECS") or "") == len(plan.findall("SCHD/FLTR"))
    late = [flight for flight in blizzard.planned if flight.late]
    assert Counter(keys)["SCHD", "ADFT"] == len(late) > 0
    in_plan = {int(flid.text or "") for flid in plan.findall("SCHD/FLTR/FLID")}
    assert in_plan == {flight.flid for flight in blizzard.planned} - {flight.flid for flight in late}
    for flight in plan.findall("SCHD/FLTR"):
        assert local(flight.findtext("SODT") or "", blizzard).date() == BLIZZARD


def test_nothing_is_said_of_a_flight_before_it_is_known(trees: list[etree._Element]) -> None:
    known: set[str | None] = set()
    for message in trees:
        known |= {flid.text for flid in message.findall("SCHD/FLTR/FLID")}
        about = message.findtext("FLOP/FLID")
        assert about is None or about in known


def test_withdrawn_flights_end_with_an_fdel(blizzard: Stream, trees: list[etree._Element]) -> None:
    ended = [message.findtext("FLOP/FLID") for message in trees if key(message) == ("FLOP", "FDEL")]
    assert {int(flid or "") for flid in ended} == blizzard.truth().withdrawn
    assert blizzard.truth().withdrawn & blizzard.truth().code_shares.keys()


def test_what_a_day_holds(trees: list[etree._Element]) -> None:
    counted = Counter(styp for type_, styp in map(key, trees) if type_ == "FLOP")
    assert set(EXPECTED) <= counted.keys()
    assert Counter(type_ for type_, _ in map(key, trees))["RSTA"] > 0


@pytest.mark.parametrize(("airport", "day"), DAYS)
def test_no_set_in_a_flop_that_only_a_plan_may_bring(airport: str, day: date) -> None:
    for message in parsed(simulate(airport, day, flights=40)):
        flop = message.find("FLOP")
        if flop is not None:
            assert key(message)[1] not in FORBIDDEN_IN_FLOP
            assert not [tag for tag in FORBIDDEN_IN_FLOP if flop.find(f".//{tag}") is not None]


def test_code_shares_name_their_main(blizzard: Stream, trees: list[etree._Element]) -> None:
    flights = {flight.flid: flight for flight in blizzard.planned}
    seen = 0
    for record in (record for message in trees for record in message.findall("SCHD/FLTR")):
        maid = record.findtext("MAID")
        if maid is not None:
            seen += 1
            main = flights[int(maid)]
            assert (record.findtext("CSOP"), record.findtext("CSFT")) == (main.carrier, main.number)
            assert record.findtext("FLID") != maid
    assert seen == len(blizzard.truth().code_shares)


def test_turnarounds_join_an_arriving_leg_and_a_departure_of_the_same_tail(
    blizzard: Stream, trees: list[etree._Element]
) -> None:
    flights = {flight.flid: flight for flight in blizzard.planned}
    linked: dict[int, int] = {}
    for message in trees:
        if key(message) == ("FLOP", "TAOP") and message.findtext("FLOP/TAID"):
            linked[int(message.findtext("FLOP/FLID") or "")] = int(message.findtext("FLOP/TAID") or "")
    assert linked
    for flid, other in linked.items():
        assert flights[flid].tail == flights[other].tail is not None
        assert flights[flid].arriving != flights[other].arriving
        arrival, departure = sorted((flights[flid], flights[other]), key=lambda flight: not flight.arriving)
        assert arrival.actual is not None
        assert departure.actual is None or arrival.actual < departure.actual


def test_other_days_and_airports_may_share_a_mailbox() -> None:
    flids: Counter[int] = Counter()
    numbers: Counter[str] = Counter()
    for airport, day in DAYS:
        stream = simulate(airport, day, flights=20)
        flids.update(flight.flid for flight in stream.planned)
        numbers.update({message.findtext("META/SEQN") or "" for message in parsed(stream)})
    assert max(flids.values()) == max(numbers.values()) == 1
    assert max(flids) < 10**12


def test_reference_lists_only_on_demand() -> None:
    def types(*, reference: bool) -> set[str]:
        return {key(message)[0] for message in parsed(simulate(flights=5, reference=reference))}

    assert types(reference=False) == {"REGN", "SCHD", "FLOP", "RSTA"}
    assert types(reference=True) == {"REGN", "SCHD", "FLOP", "RSTA", "AIRL", "ARPT", "AIRC"}


def test_layout_varies(blizzard: Stream, trees: list[etree._Element]) -> None:
    bodies = [message.xml for message in blizzard]
    assert {body.lstrip().startswith("<?xml") for body in bodies} == {True, False}
    assert {"\r\n" in body for body in bodies} == {True, False}
    orders = {tuple(child.tag for child in tree.findall("META/*")) for tree in trees}
    assert len(orders) > 50
    empties: defaultdict[bool, int] = defaultdict(int)
    for body in bodies:
        if "CNCL/>" in body or "<CNCL></CNCL>" in body:
            empties["CNCL/>" in body] += 1
    assert set(empties) == {True, False}


@pytest.mark.parametrize(("flights", "speed"), [(0, 0.0), (-1, 0.0), (None, -1.0)])
def test_odd_wishes_are_refused(flights: int | None, speed: float) -> None:
    with pytest.raises(ValueError, match=r"at least one flight|speed is in simulated seconds"):
        simulate(flights=flights, speed=speed)
