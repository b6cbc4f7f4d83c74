"""Abstract messages as they stand in the mailbox, and random streams of them.

The writer is our own (design 5): the same message can be laid out in many ways, chosen by ``Message.layout``, and none
of them may change a result. The generator draws from a small pool of flights, days and values, so that collisions, new
lives, code-share moves and changes that change nothing really happen. One generator serves both a seeded run and
Hypothesis: only the :class:`Choices` differ.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar
from xml.sax.saxutils import escape

from hypothesis import strategies as st

from . import model
from .model import Body, Broken, Flop, Message, Model, Other, Plan, Record, Reference, policy_named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import DataObject

T = TypeVar("T")

# --- short names for tests --------------------------------------------------------------------------------------------

AUTO = "auto"


def at(text: str) -> datetime:
    """A local time, ``2026-03-10T10:25``."""
    return datetime.fromisoformat(text)


def rec(flid: int | str | None, /, **fields: Any) -> Record:
    return Record(None if flid is None else str(flid), fields)


def plan(styp: str, *records: Record, recs: str | None = AUTO, seqn: str = "", **meta: Any) -> Message:
    """SCHD DNLD, RESP or ADFT. RECS is the number of records unless told otherwise; an ADFT has none."""
    declared = recs if recs != AUTO else None if styp == "ADFT" else str(len(records))
    return Message("SCHD", styp, Plan(declared, records), seqn, **meta)


def flop(styp: str, flid: int | str | None, /, *, wrapped: bool = False, seqn: str = "", **fields: Any) -> Message:
    return Message("FLOP", styp, Flop(rec(flid, **fields), wrapped), seqn)


def fdel(flid: int | str, /, seqn: str = "") -> Message:
    return Message("FLOP", "FDEL", Flop(rec(flid)), seqn)


def other(type_: str, styp: str, body: Body | None = None, /, seqn: str = "") -> Message:
    return Message(type_, styp, body or Other(), seqn)


# --- a stream ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deliver:
    """The AODB leaves a message. An empty SEQN stands for one that nobody else uses."""

    message: Message
    unreadable: bool = False
    """In an encoding we do not know, until someone mends that and replays it."""


@dataclass(frozen=True)
class SetPolicy:
    """A preset, or the eight switches one by one (see :func:`.model.policy_named`)."""

    name: str


@dataclass(frozen=True)
class TrustWindow:
    on: bool


@dataclass(frozen=True)
class OpenRequest:
    """``msgx request plan --day … [--sender …]``."""

    day: date
    sender: str | None = None


@dataclass(frozen=True)
class Replay:
    """Replays one dead message, not a malformed one: the n-th of those there are, counted round."""

    n: int


@dataclass(frozen=True)
class Wait:
    hours: int


Step = Deliver | SetPolicy | TrustWindow | OpenRequest | Replay | Wait


@dataclass
class Play:
    """Plays a stream on the model, and says what the product has to be given for the same step."""

    model: Model = field(default_factory=Model)
    now: datetime = datetime(2026, 3, 28, tzinfo=UTC)
    last_id: int = 0

    def send(self, message: Message) -> model.Ending:
        """Delivers one message, returns how it ended."""
        self.tick()
        self.step(Deliver(message))
        return self.model.endings[self.last_id]

    def tick(self, minutes: int = 1) -> None:
        self.now += timedelta(minutes=minutes)

    def step(self, step: Step) -> int | None:
        """The id of the message that is delivered or replayed, None for any other step."""
        match step:
            case Deliver(message, unreadable):
                self.last_id += 1
                message = message if message.seqn else replace(message, seqn=f"#{self.last_id}")
                if unreadable:
                    self.model.receive_unreadable(self.last_id, message)
                else:
                    self.model.receive(self.last_id, message, self.now)
                return self.last_id
            case Replay(n):
                dead = [
                    message_id
                    for message_id, ending in self.model.endings.items()
                    if ending.error_class in ("EXHAUSTED", "PROTOCOL")
                ]
                if dead:
                    self.model.replay(dead[n % len(dead)], self.now)
                    return dead[n % len(dead)]
            case SetPolicy(name):
                self.model.policy = policy_named(name)
            case TrustWindow(on):
                self.model.trust_window = on
            case OpenRequest(day, sender):
                self.model.open_request(day, sender, self.now)
            case Wait(hours):
                self.now += timedelta(hours=hours)
        return None


# --- wire format (design 5) -------------------------------------------------------------------------------------------

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


class Layout:
    """Chooses between forms that mean the same. Without a seed always the first, plain one."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed) if seed else None
        self.prefix = self.pick(["", "", "", "m:"])

    def pick(self, forms: Sequence[T]) -> T:
        return self._random.choice(forms) if self._random else forms[0]

    def shuffled(self, things: Sequence[T]) -> list[T]:
        result = list(things)
        if self._random:
            self._random.shuffle(result)
        return result

    def gap(self) -> str:
        return self.pick(["", "", "", "", "\n  ", "\r\n\t", " <!-- a remark --> ", "<?note to self?>"])

    def element(self, tag: str, inside: str = "", attributes: dict[str, str] | None = None) -> str:
        name = self.prefix + tag
        shown = "".join(f" {key}{self._equals()}{self._quoted(value)}" for key, value in (attributes or {}).items())
        if inside:
            return f"<{name}{shown}>{inside}</{name}{self.pick(['', '', ' '])}>"
        return self.pick([f"<{name}{shown}/>", f"<{name}{shown} />", f"<{name}{shown}></{name}>"])

    def _equals(self) -> str:
        return self.pick(["=", "=", " = ", "= "])

    def _quoted(self, value: str) -> str:
        quote = self.pick(['"', '"', "'"])
        padding = self.pick(["", "", "", " "])
        return quote + padding + escape(value, {quote: "&#34;" if quote == '"' else "&#39;"}) + padding + quote

    def leaf(self, tag: str, value: Any) -> str:
        """A tag that holds a value, or is explicitly empty."""
        if value is None:
            blank = self.pick(["", "", "", "  ", "\n\t", "<![CDATA[]]>", "<!-- nothing -->"])
            return self.element(tag, blank)
        return self.element(tag, self.text(value))

    def text(self, value: Any) -> str:
        plain = self.value(value)
        forms = ["plain", "plain", "plain", "padded", "cdata", "remark", "reference"]
        form = self.pick([*forms, "zeros"] if isinstance(value, int) and value < 1000 else forms)
        if form == "padded":
            return f"\n {escape(plain)}\t"
        if form == "cdata" and "]]>" not in plain:
            return f"<![CDATA[{plain}]]>"
        if form == "remark" and len(plain) > 1:
            return f"{escape(plain[:1])}<!-- cut -->{escape(plain[1:])}"
        if form == "reference":
            return f"&#{ord(plain[0])};{escape(plain[1:])}"
        if form == "zeros":
            return f"0{plain}"
        return escape(plain)

    def value(self, value: Any) -> str:
        if isinstance(value, datetime):
            return self.moment(value)
        return str(value)

    def moment(self, value: datetime) -> str:
        short = f"{value.day:02}{MONTHS[value.month - 1]}{value.year % 100:02}{value:%H%M}"
        long = f"{value:%Y%m%d%H%M%S}"
        return long if value.second else self.pick([short, short, short.lower(), long])


def to_xml(message: Message) -> str:
    """The message as text, as it stands in a TEXT column of the mailbox."""
    layout = Layout(message.layout)
    body = message.body
    how = body.how if isinstance(body, Broken) else None
    meta = layout.shuffled(
        [
            layout.leaf("SNDR", message.sndr),
            *([] if how == "no-seqn" else [layout.leaf("SEQN", message.seqn)]),
            *([] if how == "no-dttm" else [layout.leaf("DTTM", message.dttm)]),
            layout.leaf("TYPE", message.type),
            layout.leaf("STYP", message.styp),
            *layout.pick([[], [], [layout.leaf("RCVR", "MSGX")]]),
        ]
    )
    inside = layout.gap() + layout.element("META", layout.gap().join(meta)) + layout.gap() + _body(message, layout)
    attributes = layout.pick(
        [{}, {}, {"xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance", "xsi:noNamespaceSchemaLocation": "a.xsd"}]
    )
    attributes = {**attributes, "xmlns:m": "urn:sis"} if layout.prefix else dict(attributes)
    if not layout.prefix and layout.pick([False, False, True]):
        attributes["xmlns"] = "urn:sis"
    spelled = "".join(f' {key}="{value}"' for key, value in attributes.items())
    root = f"<{layout.prefix}MSG{spelled}>{inside}</{layout.prefix}MSG>"
    prolog = layout.pick(
        [
            "",
            '<?xml version="1.0" encoding="UTF-8"?>',
            "<?xml version='1.0' encoding='GB2312' standalone='yes'?>\n",
            '\n <?xml version="1.0"?>',
            '\ufeff<?xml version="1.0" encoding="utf-8"?>',
        ]
    )
    if how == "doctype":
        root = '<!DOCTYPE MSG [<!ENTITY x "y">]>' + root
    if how == "cut":
        root = root[: len(root) * 2 // 3]
    if how == "control":
        root = root.replace("</", "\x01</", 1)
    return prolog + root + layout.pick(["", "", "\n", "\r\n<!-- end -->"])


def _body(message: Message, layout: Layout) -> str:
    match message.body:
        case Plan(declared, records):
            parts = [layout.leaf("RECS", declared or None)] if declared is not None else []
            parts += [layout.element("FLTR", _record(record, layout)) for record in records]
            return layout.element("SCHD", layout.gap().join(parts))
        case Flop(record, wrapped):
            ffid = layout.pick(["", layout.leaf("FFID", "CA1234-10MAR26")])
            inside = _fields(record, layout)
            if wrapped:
                inside = layout.element(message.styp, inside)
            elif message.styp.upper() == "FDEL":
                inside = layout.element("FDEL")
            return layout.element("FLOP", layout.gap().join([_flid(record, layout), ffid, inside]))
        case Reference(fields):
            record = layout.element(message.type, "".join(layout.leaf(tag, value) for tag, value in fields.items()))
            return layout.leaf("RECS", "1") + record
        case Broken("no-body"):
            return ""
        case Other(text):
            return layout.leaf("BODY", text or None)
        case Broken():
            return layout.element("FLOP", layout.leaf("FLID", "7701001") + layout.leaf("TRML", "T2"))
    raise AssertionError(message.body)


def _record(record: Record, layout: Layout) -> str:
    return layout.gap().join([_flid(record, layout), _fields(record, layout)])


def _flid(record: Record, layout: Layout) -> str:
    return "" if record.flid is None else layout.leaf("FLID", record.flid or None)


def _fields(record: Record, layout: Layout) -> str:
    return layout.gap().join(_field(tag, value, layout) for tag, value in record.fields.items())


def _field(tag: str, value: Any, layout: Layout) -> str:
    if tag in model.IN_ATTRIBUTES:
        attributes = {part: "" if text is None else layout.value(text) for part, text in value.items()}
        return layout.element(tag, attributes=attributes)
    if tag in model.SECTIONS:
        return layout.element(tag, layout.leaf("SRTC" if tag == "SRVT" else "VPCD", value), {"OPER": "A"})
    if tag not in model.SETS:
        return layout.leaf(tag, value)
    if not value:
        return _empty_set(tag, layout)
    return layout.gap().join(_element(tag, element, layout) for element in value)


def _empty_set(tag: str, layout: Layout) -> str:
    """Number 0, or an element with nothing in it (design 5)."""
    if tag == "DELY":
        return layout.leaf(tag, None)
    number = model.SETS[tag][0]
    return layout.element(tag, "", layout.pick([{number: "0"}, {number: "0"}, {}, {number: "1"}]))


def _element(tag: str, element: dict[str, Any], layout: Layout) -> str:
    number, *parts = model.SETS[tag]
    if tag == "DELY":
        attributes = {
            p: "" if element[p] is None else layout.value(element[p]) for p in model.SETS[tag][:3] if p in element
        }
        text = element.get("TEXT")
        return layout.element(tag, "" if text is None else layout.text(text), attributes)
    attributes = {number: layout.value("" if element[number] is None else element[number])} if number in element else {}
    other_name = {"CHCLS": "CCLS", "CHTYP": "CTYP"} if layout.pick([False, True]) else {}
    parts += [part for part in element if part not in model.SETS[tag]]
    inside = [layout.leaf(other_name.get(part, part), element[part]) for part in parts if part in element]
    return layout.element(tag, layout.gap().join(inside), attributes)


def to_body(message: Message, *, unreadable: bool = False) -> str | bytes:
    """As a TEXT column gives it, or as a BLOB does."""
    text = to_xml(message)
    if unreadable:
        return b'<?xml version="1.0" encoding="x-nobody-knows"?>' + text.partition("?>")[2].encode()
    encoding = Layout(message.layout + 1 if message.layout else 0).pick(["text", "text", "utf-8", "gb18030"])
    if encoding == "text" or (isinstance(message.body, Broken) and message.body.how == "control"):
        return text
    head, declared, rest = text.partition("?>")
    if declared and head.lstrip("\ufeff\n ").startswith("<?xml"):
        text = rest
    if encoding == "utf-8":
        return text.encode()
    return f'<?xml version="1.0" encoding="GB2312"?>{text.removeprefix(chr(0xFEFF))}'.encode("gb18030")


# --- choices ----------------------------------------------------------------------------------------------------------


class Choices(Protocol):
    """Where randomness comes from."""

    def pick(self, things: Sequence[T]) -> T: ...

    def number(self, low: int, high: int) -> int: ...


class Seeded:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def pick(self, things: Sequence[T]) -> T:
        return self._random.choice(things)

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


class Drawn:
    """Choices by Hypothesis, which shrinks them towards the first and the smallest."""

    def __init__(self, data: DataObject) -> None:
        self._data = data

    def pick(self, things: Sequence[T]) -> T:
        return self._data.draw(st.sampled_from(list(things)))

    def number(self, low: int, high: int) -> int:
        return self._data.draw(st.integers(low, high))


# --- streams ----------------------------------------------------------------------------------------------------------

FIRST_DAY = date(2026, 3, 28)
"""In Europe the clocks change in the night of the second day."""
DAYS = tuple(FIRST_DAY + timedelta(days=n) for n in range(3))
FLIDS = tuple(range(7701001, 7701011))
MANY_FLIDS = (7, *range(7701001, 7701040), 999999999999)
DANGLING = 7709999
"""A MAID nobody has, unless a plan brings it."""
SENDERS = ("AODB", "AODB", "AODB", "BKUP")
REFERENCE_DATA = False
"""Whether streams hold reference data that is not ignored."""
UNKNOWN_TAGS = ("XTRA", "NOTE")

TEXTS: dict[str, tuple[str, ...]] = {
    "FLNO": ("ZH9422", "CA3422", "CA100"),
    "MVIN": ("D", "A"),
    "ALCD": ("ZH", "CA"),
    "ALSC": ("S", "C"),
    "FLTY": ("J", "C"),
    "FLIN": ("I", "D"),
    "ACFT": ("320", "738"),
    "RENO": ("B1234", "B-5678"),
    "TAOP": ("ZH", "CA"),
    "TAFL": ("101", "102"),
    "TRML": ("T1", "T2"),
    "CSOP": ("ZH", "CA"),
    "CSFT": ("9422", "100"),
    "VIPR": ("镕", "A & B <x>", "\U00020bb7  a\tb"),
    "REMC": ("DLY", "CNL"),
}
OTHER_TEXTS = ("A1", "B2", "0")


Switching = Literal["never", "presets", "switches"]
"""What a stream changes of the policy on its way."""


class Generator:
    """Draws the steps of a stream. It remembers what it sent, so as to send it again."""

    def __init__(self, choices: Choices, switching: Switching = "presets", flids: Sequence[int] = FLIDS) -> None:
        self.choices = choices
        self.switching = switching
        self.flids = flids
        self.sent: list[Message] = []
        self.count = 0

    # chances and values

    def chance(self, percent: int) -> bool:
        return self.choices.number(0, 99) >= 100 - percent

    def some(self, things: Sequence[T], percent: int) -> list[T]:
        return [thing for thing in things if self.chance(percent)]

    def moment(self, day: date) -> datetime:
        """Often one of a few, so that the same value comes again; the edges of the day among them."""
        clock = self.choices.pick([time(10, 25), time(0, 0), time(23, 59), time(2, 30), time(12, 0, 30)])
        return datetime.combine(day, clock)

    def home(self, flid: int) -> date:
        return DAYS[flid % len(DAYS)]

    def flid(self) -> int:
        return self.choices.pick(self.flids)

    def spelled(self, flid: int) -> str:
        """A FLID is a number, however many zeros stand before it."""
        return f"{flid:012}" if self.chance(4) else str(flid)

    def value(self, tag: str) -> Any:
        if tag in ("MAID", "TAID"):
            return self.choices.pick([*self.flids[:4], *self.flids, DANGLING])
        if tag in model.NUMBERS:
            return self.choices.number(1, 3) if tag != "MAXP" else self.choices.pick([170, 0, 180])
        if tag in model.DATE_TIMES or (tag in model.DATE_TIMES_OR_TEXT and self.chance(50)):
            return self.moment(self.choices.pick(DAYS))
        return self.choices.pick(TEXTS.get(tag, OTHER_TEXTS))

    def scalar(self, tag: str) -> Any:
        return None if self.chance(18) else self.value(tag)

    def elements(self, tag: str) -> list[dict[str, Any]]:
        if self.chance(20):
            return []
        limit = model.SET_LIMIT.get(tag, 99)
        lengths = [1, 2, 5, 6] if tag == "ROUT" else [1, 2, 3]
        if limit is not None and self.chance(1):
            lengths = [limit, limit + 1]
        return [self.element(tag) for _ in range(self.choices.pick(lengths))]

    def element(self, tag: str) -> dict[str, Any]:
        number, *parts = model.SETS[tag]
        named = self.some(parts, 45) or [parts[0]]
        element = {part: None if self.chance(10) else self.value(part) for part in named}
        if tag == "DELY":
            element = {number: self.value(number), **element}
        elif self.chance(90):
            element = {number: None if self.chance(5) else self.choices.number(1, 3), **element}
        if tag != "DELY" and self.chance(1):
            element["XPRT"] = "x"
        return element

    def field(self, tag: str) -> Any:
        if tag in model.SETS:
            return self.elements(tag)
        if tag in model.IN_ATTRIBUTES:
            parts = self.some(model.IN_ATTRIBUTES[tag], 70)
            return {part: None if self.chance(25) else self.value(part) for part in parts}
        if tag in model.SECTIONS or tag in UNKNOWN_TAGS:
            return self.choices.pick(OTHER_TEXTS)
        return self.scalar(tag)

    def fields(self, percent: int, sets: Sequence[str] = tuple(model.SETS)) -> dict[str, Any]:
        """Some tags of a record, each with this chance; the ones that matter most more often."""
        plain = [t for t in (*model.SCALARS, *model.SITE_SCALARS) if t not in ("DDES", "DDIR", "REID", "SODT", "MAID")]
        chosen = [*self.some(plain, percent), *self.some(sets, percent), *self.some(["FDIV", "FRET"], percent)]
        chosen += self.some(["FLNO", "MVIN", "MAID"], 35)
        chosen += self.some(["SRVT", "XTRA"], 3)
        return {tag: self.field(tag) for tag in dict.fromkeys(chosen)}

    # messages

    def message(self) -> Message:
        draw: Callable[[], Message] = self.choices.pick(
            [self.a_flop] * 34
            + [self.a_plan] * 22
            + [self.an_adft] * 12
            + [self.an_fdel] * 8
            + [self.a_resend] * 5
            + [self.an_other] * 5
        )
        return self.finish(draw())

    def finish(self, message: Message) -> Message:
        self.count += 1
        if not message.seqn:
            message = replace(message, seqn=f"N{self.count}", sndr=self.choices.pick(SENDERS))
        message = replace(message, layout=self.choices.number(0, 9999))
        if self.chance(2) and not (isinstance(message.body, Flop) and message.body.wrapped):
            message = replace(message, styp=message.styp.lower(), type=message.type.capitalize())
        self.sent.append(message)
        return message

    def a_plan(self) -> Message:
        styp = "RESP" if self.chance(40) else "DNLD"
        days = [self.choices.pick(DAYS)]
        if styp == "DNLD" and self.chance(50):
            days = list(DAYS)
        percent = self.choices.pick([2, 2, 15])
        flids = [flid for flid in self.flids if self.home(flid) in days and self.chance(75)] if self.chance(93) else []
        records = []
        for flid in flids:
            day = self.home(flid) if self.chance(98) else self.choices.pick(DAYS)
            records.append(rec(flid, SODT=self.moment(day), **self.fields(percent)))
        dttm = datetime.combine(FIRST_DAY - timedelta(days=1), time(12)) + timedelta(
            hours=6 * self.choices.number(0, 6)
        )
        message = plan(styp, *records, dttm=dttm)
        return self.spoiled(message) if self.chance(15) else message

    def spoiled(self, message: Message) -> Message:
        """A plan with one fault."""
        body = message.body
        assert isinstance(body, Plan)
        records = list(body.records)
        faults = ["recs"]
        if records:
            faults += ["twice", "zeros", "flid", "sodt-absent", "sodt-empty", "value"]
        fault = self.choices.pick(faults)
        n = self.choices.number(0, len(records) - 1) if records else 0
        declared = body.declared
        if fault == "recs":
            declared = self.choices.pick([None, "", "x", "10000", str(len(records) + 1)])
        elif fault == "twice":
            records.append(records[n])
        elif fault == "zeros":
            records.append(replace(records[n], flid="00" + str(records[n].flid)))
        elif fault == "flid":
            records[n] = replace(records[n], flid=self.choices.pick([None, "", "77A", "1234567890123", "-5"]))
        elif fault == "sodt-absent":
            records[n] = replace(records[n], fields={k: v for k, v in records[n].fields.items() if k != "SODT"})
        elif fault == "sodt-empty":
            records[n] = replace(records[n], fields={**records[n].fields, "SODT": None})
        else:
            records[n] = replace(records[n], fields={**records[n].fields, **self.impossible()})
        if fault in ("twice", "zeros"):
            declared = str(len(records))
        return replace(message, body=Plan(declared, tuple(records)))

    def impossible(self) -> dict[str, Any]:
        """A value that its tag cannot hold."""
        return self.choices.pick([{"MAXP": "many"}, {"ESTT": "31FEB261000"}, {"SODT": "soon"}, {"MAID": "A1"}])

    def an_adft(self) -> Message:
        flid = self.flid()
        fields = self.fields(self.choices.pick([2, 15]))
        if self.chance(60):
            day = self.home(flid) if self.chance(85) else self.choices.pick(DAYS)
            fields["SODT"] = self.moment(day) if self.chance(95) else None
        record = rec(self.spelled(flid), **fields)
        if self.chance(3):
            return plan("ADFT")
        if self.chance(3):
            return plan("ADFT", record, rec(self.flid()))
        if self.chance(3):
            return plan("ADFT", replace(record, flid=self.choices.pick([None, "", "77A", "1234567890123"])))
        if self.chance(2):
            return plan("ADFT", replace(record, fields={**record.fields, **self.impossible()}))
        return plan("ADFT", record, recs=self.choices.pick([None, "1"]))

    def a_flop(self) -> Message:
        styp = self.choices.pick(
            [
                *sorted(model.FLOP_STYPS - set(model.ALLOCATIONS)),
                *model.ALLOCATIONS[:2],
                self.choices.pick(model.ALLOCATIONS),
                self.choices.pick(model.SITE_SCALARS),
                *["MAID"] * 4,
                *["ROUT"] * 4,
                *["FLNO", "XABC"] * 2,
            ]
        )
        flid: int | str = self.spelled(self.flid())
        tags = {"HNAG": ["FHAG", "PHAG", "MHAG"], "TAOP": ["TAOP", "TAFL", "TAID"], "VIPP": ["VIPP", "VIPR"]}.get(styp)
        fields = {
            tag: self.field(tag) for tag in (self.some(tags, 75) if tags else [styp] if model.known(styp) else [])
        }
        others = [tag for tag in model.SETS if tag not in model.ALLOCATIONS or self.chance(10)]
        if self.chance(30):
            fields.update(self.fields(3, others))
            if self.chance(10):
                fields["SODT"] = self.moment(self.choices.pick(DAYS)) if self.chance(80) else None
        if self.chance(3):
            fields["MAFL"] = "7701002"
        if self.chance(4):
            fields["NOTE"] = "x"
        if fields.keys() == {"MAFL"}:
            fields = {}
        if self.chance(3):
            fields = {}
        if self.chance(4):
            fields = {"XTRA": "x"}
        if self.chance(1):
            fields.update(self.impossible())
        if self.chance(2):
            flid = self.choices.pick(["", "77A", "1234567890123"])
        wrappable = not model.known(styp) or (bool(tags) and any(model.known(tag) for tag in fields))
        wrapped = bool(fields) and wrappable and self.chance(30)
        return flop(styp, flid, wrapped=wrapped, **fields)

    def an_fdel(self) -> Message:
        return fdel(self.spelled(self.flid()))

    def a_resend(self) -> Message:
        """The same identity once more, with the same or another body."""
        if not self.sent:
            return self.an_fdel()
        old = self.choices.pick(self.sent[-30:])
        if self.chance(60):
            return old
        if isinstance(old.body, Flop) and old.styp.upper() != "FDEL":
            return replace(old, body=Flop(rec(self.flid(), ESTT=self.moment(FIRST_DAY))))
        if isinstance(old.body, Plan):
            return replace(old, body=Plan("1", (rec(self.flid(), SODT=self.moment(FIRST_DAY)),)))
        return old

    def an_other(self) -> Message:
        return self.choices.pick(
            [
                other("LDM", "LDM"),
                other("REGN", "UPD", Reference({"RNUM": "B1234"})),
                other("RSTA", "DNLD"),
                other("EROR", "FLOP", Other("no such flight")),
                other("ARPT", "UPD", Reference({"ITCD": "SZX"})) if REFERENCE_DATA else other("LDM", "LDM"),
                other("SCHD", "ODD"),
                other("ABCD", "XYZ"),
                other("FLOP", "ESTT", Broken("cut")),
                other("FLOP", "ESTT", Broken("doctype")),
                other("FLOP", "ESTT", Broken("no-seqn")),
                other("FLOP", "ESTT", Broken("no-dttm")),
                other("FLOP", "ESTT", Broken("control")),
                other("SCHD", "DNLD", Broken("no-body")),
            ]
        )

    # steps

    def step(self) -> Step:
        if self.chance(12):
            return self.choices.pick(
                [
                    self.a_request,
                    self.a_request,
                    self.a_request,
                    self.a_switch if self.switching != "never" else self.a_request,
                    lambda: TrustWindow(self.choices.pick([True, False])),
                    lambda: Replay(self.choices.number(0, 9)),
                    lambda: Wait(self.choices.pick([1, 1, 8, 25])),
                ]
            )()
        return Deliver(self.message(), unreadable=self.chance(2))

    def a_switch(self) -> Step:
        presets = self.switching == "presets" or self.chance(20)
        return SetPolicy(self.choices.pick(["ledger", "retain"]) if presets else self.any_policy())

    def any_policy(self) -> str:
        return f"{self.choices.number(0, 255):08b}"

    def a_request(self) -> Step:
        return OpenRequest(self.choices.pick(DAYS), self.choices.pick([*SENDERS, None]))

    def stream(self, length: int) -> list[Step]:
        return [self.step() for _ in range(length)]


# --- a stream as source -----------------------------------------------------------------------------------------------


def as_source(steps: Sequence[Step]) -> str:
    """The steps as Python, ready to become a named test in ``test_counterexamples.py``."""
    return "[\n" + "".join(f"    {_step_source(step)},\n" for step in steps) + "]"


def _step_source(step: Step) -> str:
    if isinstance(step, OpenRequest):
        return f"OpenRequest(date.fromisoformat({str(step.day)!r}), {step.sender!r})"
    if isinstance(step, Deliver):
        return f"Deliver({_message_source(step.message)}{', unreadable=True' if step.unreadable else ''})"
    return repr(step)


def _message_source(message: Message) -> str:
    meta = {}
    if message.seqn:
        meta["seqn"] = message.seqn
    if message.sndr != "AODB":
        meta["sndr"] = message.sndr
    usual = {Plan: "SCHD", Flop: "FLOP"}.get(type(message.body), message.type)
    if message.type != usual:
        meta["type"] = message.type
    if message.layout:
        meta["layout"] = message.layout
    body = message.body
    if isinstance(body, Plan):
        if message.dttm != Message.dttm:
            meta["dttm"] = message.dttm
        declared = None if message.styp == "ADFT" else str(len(body.records))
        recs = {"recs": body.declared} if body.declared != declared else {}
        records = [f"rec({_flid_source(r)}{_keywords(r.fields)})" for r in body.records]
        call = f"plan({', '.join([repr(message.styp), *records])}{_keywords(recs)})"
        return f"replace({call}{_keywords(meta)})" if meta else call
    call = f"other({message.type!r}, {message.styp!r}, {body!r})"
    if isinstance(body, Flop):
        wrapped = {"wrapped": True} if body.wrapped else {}
        call = f"flop({message.styp!r}, {_flid_source(body.record)}{_keywords({**wrapped, **body.record.fields})})"
        if message.styp == "FDEL" and not body.record.fields:
            call = f"fdel({_flid_source(body.record)})"
    return f"replace({call}{_keywords(meta)})" if meta else call


def _flid_source(record: Record) -> str:
    return str(record.number) if record.flid == str(record.number) else repr(record.flid)


def _keywords(fields: Any) -> str:
    return "".join(f", {key}={_value_source(value)}" for key, value in fields.items())


def _value_source(value: Any) -> str:
    if isinstance(value, datetime):
        return f"at({value.isoformat(timespec='seconds' if value.second else 'minutes')!r})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_value_source(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value_source(part) for part in value) + "]"
    return repr(value)
