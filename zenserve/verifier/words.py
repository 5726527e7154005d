"""The words of a statement: its claim, and the lists of what is and is not said or verified.

Written here and nowhere else: for the service, which makes statements, and for verifiers, who make the words
again and never take them from a document.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from zenserve.verifier.description import Description, Group, InputType, as_list
from zenserve.verifier.documents import Dataset, KeyFile, Statement, checked, named
from zenserve.verifier.fields import Values, canonical
from zenserve.verifier.schemes import INPUT, OUTPUT, Norm
from zenserve.verifier.system import CEREMONY, VerifyingSystem

if TYPE_CHECKING:
    from zenserve.verifier.table import TableSchema

_ALWAYS_UNSAID = [
    "That the network is accurate beyond what is claimed, fair or fit for a purpose.",
    "Who made the proof, or when: made_at is the word of whoever made it.",
]
_COMMITTED_MODEL_UNSAID = (
    "That the committed weights are of their types: the proof of the model's registration says that."
)
_INPUT_UNSAID = {
    "public": "Where the input came from, or who chose it.",
    "private": "Which input it was: only that the prover knows one with this result.",
    "committed": "What the committed input is (its opening says it), where it came from, or who chose it.",
}
_OUTPUT_UNSAID = (
    "What the committed output is: the commitment alone says nothing about it, and only its opening shows it."
)
_REFERENCE_UNSAID = "Whose the committed reference is, or what it was made from."
_FURTHER_UNSAID = (
    "Anything of inputs further away in {}, or changed otherwise, as a picture that is turned; or of numbers"
    " between the steps, which are rounded before the network sees them."
)
_AWAY: Final[Mapping[Norm, str]] = {"inf": "any one entry", "2": "all entries together"}
_ROBUSTNESS_UNSAID = f"{_FURTHER_UNSAID} Nor that the label is right."
_CERTIFIED_UNSAID = (
    "That the other samples are labelled wrongly, or can be: it is not certified that they cannot. Nor which"
    " samples are certified."
)
_REGISTRATION_UNSAID = "What the network's weights are, or who trained it."
_PARENT_UNSAID = "That the model was made from its parent: it names it, and that is all."
_ORDER_UNSAID = (
    "That the samples were picked after the model was committed to: picked_for is the service's word."
)
_PRIVATE_DATASET_UNSAID = (
    "What the samples are, or that they are different ones: only who knows the dataset can check this."
)
_TARGETS_UNSAID = (
    "The errors against targets as they were: each was rounded to the nearest of the outputs' steps. Nor the"
    " error of any one sample."
)

_SATURATED_UNSAID = (
    "That no number given to the network lay beyond the range of its calibration: such numbers count as the"
    " range's ends."
)

_NETWORK_UNSEEN = (
    "That the network is the one you mean: compare its SHA-256, network, with one that you know."
)
_DATASET_UNSEEN = "That the samples are those of the dataset with this SHA-256: give the dataset to compare."
_REPEATED = (
    "That no sample is counted twice: samples may repeat within a shard, and shards of the same samples can"
    " have different commitments. Give the dataset to compare, a private one with its opening."
)
_REPLAY = "That the proof was made for you, or lately: without a challenge of yours, it may be an old one."
_KEY_UNSEEN = {
    True: "That the key is for this circuit: whoever told you its id answers for that.",
    False: "That the key is for this circuit: have its file from whom you trust, not with the proof.",
}
_REGISTRATION_UNSEEN = "That the model's registration is valid: it was not given to be verified, too."
_REGISTRATION_KEY_UNSEEN = (
    "That the registration's key is for its circuit: have its file, too, from whom you trust."
)
_ENDS_SEEN = "What is shown of the output is within the ends that you expected."
_NAMES_UNPROVEN = (
    "That columns, categories and classes have the names that the table's file gives them: have it from whom"
    " you trust."
)
_INPUT_SEEN = "The {} is the one that you gave, rounded and clipped to the circuit's integers."
_CEREMONY_SHOWN = (
    "The secrets that the second phase of the key's ceremony drew are those of the contributions that it"
    " names: whoever made one knew its shares."
)
_SETUP_UNSEEN = {
    True: "That the key's ceremony began with this circuit, and with powers of tau that somebody contributed"
    " to: who has people contribute to another start can forge proofs. Nor who its contributors are. zenserve"
    " audit compares with its files, and you the hashes with those published.",
    False: "That the key is of a ceremony: it says so, and its file has no transcript that shows it.",
}

_MOST_OUTPUTS: Final = 16
_FIRST_OUTPUTS: Final = 8
"""So many are said where there are more than that: the statement's values have them all."""


def make_statement(
    key: KeyFile,
    *,
    values: Values,
    commitments: Mapping[str, str],
    made_at: str,
    dataset: Dataset | None = None,
    parent: str | None = None,
    challenge: str | None = None,
    saturates: bool = False,
) -> Statement:
    """The statement of a proof under ``key``.

    ``values``: the public values by group, without ``statement``; for accuracy the totals and ``size``, too.
    ``commitments``: in hex, one for each linked segment; for accuracy that of the model alone.
    ``parent``: the commitment of the model of which the registered one is a version. ``saturates``: whether
    the model takes numbers beyond the range of its calibration. ``made_at``: see ``documents.timestamp``.
    Raises ``FileFormatError`` (``file.json``) where parts do not fit the document,
    and ``ValueError`` where the values are not those of the circuit.
    """
    description = checked(Description, key.circuit)
    description.public_values(values)
    parts = {
        **named(key.proof_system),
        "scheme": description.scheme,
        "claim": claim(description, values),
        "network": description.network,
        "values": values,
        "commitments": dict(commitments),
        "dataset": dataset,
        "parent": parent,
        "verification_key": key.reference,
        "challenge": challenge,
        "made_at": made_at,
        **({"saturates": True} if saturates else {}),
        "does_not_say": does_not_say(
            key.proof_system, description, key.setup, dataset, parent, saturates=saturates
        ),
    }
    return checked(Statement, parts)


def claim(description: Description, values: Values) -> str:
    """Return the claim in words: the values that a reader looks for, then how they were computed."""
    if description.scheme == "accuracy":
        facts = [_measured(description, values)]
    else:
        facts = [_FACTS[name](values) for name in _FACTS if name in values]
    bounds = {found.name: bounds for bounds, found in description.bounded}
    for group in description.public_inputs:
        if fact := _fact(group, values, bounds.get(group.name)):
            facts.append(f"Of the output {group.owner}: {fact}" if group.owner else fact)
    return " ".join([*facts, description.meaning])


def _fact(group: Group, values: Values, bounds: Group | None) -> str:
    """Of a group of outputs what its values are in words; "" of others, and of what the facts say."""
    if group.kind == "values":
        return _outputs(group, group.numbers(values[group.name]))
    if bounds:
        return _places(bounds, bounds.numbers(values[bounds.name]), group.numbers(values[group.name]))
    if group.kind == "radius":
        said, steps = _reals(group, group.numbers(values[group.name]))
        return f"The radius is {said[0]}, {steps}."
    if group.kind in ("label", "logits", "top") and group.owner:
        return _FACTS[group.kind]({group.kind: values[group.name]})
    return ""


def does_not_say(
    system: VerifyingSystem,
    description: Description,
    setup: str,
    dataset: Dataset | None,
    parent: str | None,
    *,
    saturates: bool,
) -> list[str]:
    """Return sentences on what a reader might wrongly take the claim to say. ``setup``: the key's label."""
    scheme, away = description.scheme, _AWAY[description.norm]
    unsaid = [
        *([_REGISTRATION_UNSAID] if scheme == "registration" else []),
        *([_PARENT_UNSAID] if parent else []),
        *(
            [_COMMITTED_MODEL_UNSAID]
            if scheme != "registration" and "model" in description.commitments
            else []
        ),
        *(_inputs_unsaid(description) if scheme in ("inference", "recognition", "robustness") else []),
        *([_ROBUSTNESS_UNSAID.format(away)] if scheme == "robustness" else []),
        *([_FURTHER_UNSAID.format(away), _CERTIFIED_UNSAID] if description.measure == "certified" else []),
        *([_OUTPUT_UNSAID] if description.quantisation.output_types else []),
        *([_REFERENCE_UNSAID] if "reference" in description.commitments else []),
        *([_ORDER_UNSAID] if dataset else []),
        *([_PRIVATE_DATASET_UNSAID] if dataset and dataset.sha256 is None else []),
        *([_TARGETS_UNSAID] if description.targets else []),
        *([_SATURATED_UNSAID] if saturates else []),
    ]
    return [*unsaid, *_ALWAYS_UNSAID, system.setups[setup]]


def _inputs_unsaid(description: Description) -> list[str]:
    types = description.quantisation.types
    unsaid = {name: _INPUT_UNSAID[privacy(description, name)] for name in types}
    return [said if name == INPUT else f"Of the {_in_words(name)}: {said}" for name, said in unsaid.items()]


def _in_words(name: str) -> str:
    """One of several inputs: ``input image``."""
    return name.replace("/", " ")


class Registered(NamedTuple):
    """The statement of the model's registration, and whether its key's file has a ceremony's transcript."""

    statement: Statement
    shows_ceremony: bool


class Seen(NamedTuple):
    """The data that a verifier had beside a valid proof, all of it checked and consistent.

    ``expected``: the names, of ``documents.Expected``, that the verifier knew and compared; ``given``: the
    inputs and ``dataset`` that the verifier supplied; ``opened``: the values, in words, of the commitments
    that were opened, by name; ``shows_ceremony``: whether the key's file has its ceremony's transcript;
    ``table``: the names of columns and classes.
    """

    expected: Collection[str]
    given: Collection[str]
    opened: Mapping[str, str]
    shows_ceremony: bool = False
    registration: Registered | None = None
    table: TableSchema | None = None


def verified(statement: Statement, seen: Seen) -> list[str]:
    """Return sentences on what the verifier of a valid proof may rely on."""
    key, dataset = statement.verification_key, statement.dataset
    expected, given, opened, shows_ceremony, registration, _ = seen
    return [
        statement.claim,
        f"It is proven by {statement.proof_system.id}, under the key {key.id}{_expected('key', expected)}.",
        *([f"The key's setup is {key.setup}, as you required."] * ("require" in expected)),
        *([_CEREMONY_SHOWN] * shows_ceremony),
        *([_network(statement.network)] * ("network" in expected)),
        *(
            f"The commitment to the {_in_words(name)} is {commitment}{_expected(name, expected)}."
            for name, commitment in sorted(statement.commitments.items())
        ),
        *([f"The statement answers your challenge, {statement.challenge}."] * ("challenge" in expected)),
        *([_ENDS_SEEN] * bool({"at_least", "at_most"} & {*expected})),
        *([_made(statement.made_at)] * bool({"after", "before"} & {*expected})),
        *(_INPUT_SEEN.format(_in_words(name)) for name in sorted(given) if name != "dataset"),
        *(f"The {_in_words(name)} is what its opening shows: {opened[name]}" for name in sorted(opened)),
        *([_shards(dataset, "dataset" in given)] if dataset else []),
        *([_registered(registration.statement)] if registration else []),
    ]


def not_verified(statement: Statement, seen: Seen) -> list[str]:
    """Return sentences on what the verifier of a valid proof may not rely on."""
    expected, given, opened, shows_ceremony, registration, table = seen
    dataset = statement.dataset
    rests_on_registration = _COMMITTED_MODEL_UNSAID in statement.does_not_say
    public_unseen = dataset is not None and dataset.sha256 is not None and "dataset" not in given
    return [
        *(
            f"That the committed {_in_words(name)} is the one you mean: compare the commitment with one that"
            " you know."
            for name in sorted(statement.commitments)
            if name not in expected and name not in given and name not in opened
        ),
        *([] if "model" in statement.commitments or "network" in expected else [_NETWORK_UNSEEN]),
        *([_DATASET_UNSEEN] * public_unseen),
        *([_REPEATED] if dataset and "dataset" not in given else []),
        *([_REPLAY] * ("challenge" not in expected)),
        *([_NAMES_UNPROVEN] if table else []),
        *([f"By the table's description: {table.unproven}."] if table and table.unproven else []),
        _KEY_UNSEEN["key" in expected],
        *([_SETUP_UNSEEN[shows_ceremony]] * (statement.verification_key.setup == CEREMONY)),
        *(_unsaid_of(registration, statement) if registration else []),
        *([_REGISTRATION_UNSEEN] if not registration and rests_on_registration else []),
        *(
            sentence
            for sentence in statement.does_not_say
            if not (registration and sentence == _COMMITTED_MODEL_UNSAID)
        ),
    ]


def called(description: Description, values: Values, table: TableSchema) -> list[str]:
    """Return sentences on what is shown, with the names that the ``table`` has for labels and columns.
    Nothing proves the names."""
    groups = sorted(description.public_inputs, key=lambda group: group.kind == INPUT)
    facts = [(group, _group_called(group, as_list(values.get(group.name, [])), table)) for group in groups]
    said = [(group, fact) for group, fact in facts if fact]
    several = sum(group.kind != INPUT for group, _ in said) > 1
    return [
        f"Of the output {group.owner}: {fact}" if several and group.kind != INPUT else fact
        for group, fact in said
    ]


def _group_called(group: Group, shown: list[int], table: TableSchema) -> str:
    """In the words of the table; "" of what it has no name for."""
    if shown and group.kind in ("label", "top") and table.classes:
        names = [f'"{name}"' if (name := table.class_name(each)) else str(each) for each in shown]
        return f"The {'label is' if len(names) == 1 else 'labels are'} called {', '.join(names)}."
    reals = group.real(shown) if group.kind == INPUT and table.columns else None
    if reals is None or len(reals) != table.size:
        return ""
    return f"The input is the row {', '.join(table.cells_in_words(reals, group.scale))}."


def _expected(name: str, expected: Collection[str]) -> str:
    return ", as you expected" * (name in expected)


def _network(sha256: str) -> str:
    return f"The network, or the architecture of hidden weights, has the SHA-256 {sha256}, as you expected."


def _made(at: str) -> str:
    return f"The statement says that it was made at {at}, within the time that you expected."


def _registered(registration: Statement) -> str:
    return (
        "The committed weights are of their types: the registration that you gave is valid, under the key"
        f" {registration.verification_key.id}."
    )


def _unsaid_of(registration: Registered, statement: Statement) -> list[str]:
    setup, setups = registration.statement.verification_key.setup, registration.statement.proof_system.setups
    unsaid = [
        *([_SETUP_UNSEEN[registration.shows_ceremony]] * (setup == CEREMONY)),
        *([setups[setup]] * (setup != statement.verification_key.setup)),
    ]
    return [_REGISTRATION_KEY_UNSEEN, *(f"By the registration: {sentence}" for sentence in unsaid)]


def _shards(dataset: Dataset, given: bool) -> str:
    """Return a sentence on the dataset's shards. ``given``: the verifier supplied the samples; without them
    only the shards are known to be distinct, as equal samples can have different commitments."""
    count = len(dataset.shards)
    shards = "one shard" if count == 1 else f"{count} shards"
    if given:
        return (
            f"The commitments are to the dataset that you gave: all its {dataset.size} samples, in {shards},"
            " each proven once; their counts add up to this."
        )
    return f"The samples are {dataset.size} in {shards}, each proven; their counts add up to this."


def privacy(description: Description, name: str) -> str:
    """Return whether the value ``name``, such as an input, is ``public``, ``committed`` or ``private``."""
    if name in description.commitments:
        return "committed"
    return "public" if any(group.name == name for group in description.public_inputs) else "private"


_FACTS = {
    "label": lambda values: (
        f"The labels, in turn, are {_listed(values['label'])}."
        if isinstance(values["label"], list)
        else f"The label is {values['label']}."
    ),
    "top": lambda values: f"The labels, the likeliest first, are {_listed(values['top'])}.",
    "logits": lambda values: f"The network's outputs are {_listed(values['logits'])}.",
    "match": lambda values: (
        f"The input is {'' if values['match'] == 1 else 'not '}within the threshold,"
        f" {values['threshold']}, of the reference."
    ),
}


def _measured(description: Description, values: Values) -> str:
    measurement = description.measurement
    totals = {count.name: as_list(values[count.name]) for count in measurement.counts}
    return measurement.claim(totals, *as_list(values["size"]))


def _outputs(group: Group, integers: list[int]) -> str:
    few = group.count <= _MOST_OUTPUTS
    begin = "outputs are" if few else f"{group.count} outputs begin with"
    said, steps = _reals(group, integers if few else integers[:_FIRST_OUTPUTS])
    return f"The network's {begin} {', '.join(said)}, {steps}."


def opens_to(kind: InputType, integers: Sequence[int]) -> str:
    """Return a sentence on the values of this type that an opening shows."""
    few = len(integers) <= _MOST_OUTPUTS
    begin = "" if few else f"{len(integers)} values that begin with "
    group = Group(name=OUTPUT, first=0, count=1, shape=[], scale=kind.scale, zero_point=kind.zero_point)
    said, steps = _reals(group, [*integers] if few else [*integers[:_FIRST_OUTPUTS]])
    return f"{begin}{', '.join(said)}, {steps}."


def _places(bounds: Group, integers: list[int], places: list[int]) -> str:
    """Return a sentence on the bounds between which outputs lie. ``places``: for each output, the number of
    bounds that it reaches."""
    few = len(places) <= _MOST_OUTPUTS
    begin = "outputs are, in turn," if few else f"{len(places)} outputs begin with"
    ends, steps = _reals(bounds, integers)
    before, _ = _reals(bounds, [end - 1 for end in integers])
    said = []
    for place in places if few else places[:_FIRST_OUTPUTS]:
        above = [f"at least {end}" for end in ends[:place][-1:]]
        below = [
            f"below {end} (at most {last})"
            for end, last in zip(ends[place:][:1], before[place:][:1], strict=True)
        ]
        said.append(" and ".join([*above, *below]))
    return f"The network's {begin if len(places) > 1 else 'output is'} {'; '.join(said)}, {steps}."


def _reals(group: Group, integers: list[int]) -> tuple[list[str], str]:
    """The real numbers, by the key's scale, as RFC 8785 writes doubles: the same text in any language. And
    what they are steps of.
    """
    reals = group.real(integers)
    if reals is None:
        return [*map(str, integers)], "integers that have no one scale"
    numbers = [canonical(each).decode() for each in reals]
    return numbers, f"in steps of {canonical(group.scale).decode()}"


def _listed(numbers: int | list[int]) -> str:
    return ", ".join(map(str, as_list(numbers)))
