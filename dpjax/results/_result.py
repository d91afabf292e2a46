"""The result of an audit: bounds for other notions, display and serialization."""

import copy
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

from dpjax.core import validate
from dpjax.core.conform import refuse_misfits
from dpjax.core.errors import neutral
from dpjax.core.files import as_path, read_document
from dpjax.core.settings import own_settings
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, confidence_text, printed_row
from dpjax.databases.spaces import VARIED
from dpjax.notions import Notion, Rows, Statement, evidence_from_plain
from dpjax.partitions import EVERYWHERE
from dpjax.report import Glance, Page, Shown, Verdict
from dpjax.results._figures import figure_of, levels_figure
from dpjax.results._parts import Conclusion, Observed, Provenance, Witness
from dpjax.results._shortcuts import Parts
from dpjax.results._words import HEADLINES, short, shown_rows
from dpjax.results.recipes import notion_from_plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True, repr=False)
class AuditResult(Parts, Shown):
    """The result of an audit, which can be displayed, written to JSON and read back.

    Frequently used attributes of the parts are also attributes of the result. For example,
    `result.lower_bound` is `result.statement.lower_bound`.

    `plot` draws the miss rate against the false alarm rate. The figure shows the region that the
    claim forbids, the lower bound and the witness. If the audit counted a chain of nested events,
    the figure shows a confidence band instead of the lower bound. If the result contains a loss
    curve, `plot` also draws the outputs and their loss on the right. If there is neither a claim
    nor a witness, `plot` draws only the outputs or the levels.

    Attributes:
        statement: Bounds, estimate, claim and verdict.
        witness: Pair for which the audit found the largest privacy loss, with its event or output;
            None if there are no pairs.
        evidence: Counts and numbers of draws.
        recipe: Subject, method, notion, pairs and key of the audit as JSON values, for
            `dpjax.rerun`. The subject is None if it cannot be imported by name.
        provenance: Mechanism, versions and device.
        notes: Notes for readers of the result.
        doubts: Reasons to doubt that the outputs are independent draws, usually none.
    """

    @own_settings()
    def bound(self, notion: Notion) -> Statement:
        """Return a statement about any notion from the same counts, without new draws.

        All statements from one result hold jointly at the result's confidence level, for any number
        of notions.

        Args:
            notion: Notion such as `dpjax.Gdp()`, `dpjax.Renyi(8)` or `dpjax.Profile()`.

        Returns:
            The lower bound, the estimate and, if the notion is a curve, the columns of the curve.

        Raises:
            ValueError: If the audit counted a single event that was chosen for another notion, or
                if the method counted no events.
            TypeError: If `notion` is not a dpjax notion.
        """
        if not isinstance(notion, Notion):
            raise BadType(f"notion must be a dpjax notion, but was {notion!r}.")
        distance = self.recipe["distance"]
        notion.refuse_distance(distance)
        sure, named = self.statement.own_confidence, self.notion
        return self.evidence.counted.state(notion, sure, distance=distance, named=named)

    def to_dict(self) -> JsonObject:
        """Return the result as nested dicts and lists for JSON, with an entry for each part."""
        parts: JsonObject = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        counted = self.evidence.counted.to_plain()
        found = {
            **parts,
            "statement": dataclasses.asdict(self.statement),
            "witness": self.witness and dataclasses.asdict(self.witness),
            "evidence": {**vars(self.evidence), "counted": counted},
            "provenance": dataclasses.asdict(self.provenance),
        }
        return copy.deepcopy(found)

    @classmethod
    def from_json(cls, text: str) -> "AuditResult":
        """Read a result from a string that `to_json` returned.

        Raises:
            ValueError: If the text is not a result from `to_json`.
        """
        try:
            content = json.loads(text)
            stated, witness, seen = (content[name] for name in ("statement", "witness", "evidence"))
            _make_tuples(stated, "crossing")
            if witness is not None:
                _make_tuples(witness, "densities", "event_counts")
            scores = tuple((label, value) for label, value in seen["pair_scores"])
            counted = evidence_from_plain(seen["counted"])
            parts = {
                "statement": Conclusion(**stated),
                "witness": None if witness is None else Witness(**witness),
                "evidence": Observed(**{**seen, "counted": counted, "pair_scores": scores}),
                "provenance": Provenance(**content["provenance"]),
                "notes": _texts(content["notes"]),
                "doubts": _texts(content["doubts"]),
            }
            found = cls(**{**content, **parts})
            for part in filter(None, (found.statement, found.witness, found.evidence, found)):
                refuse_misfits(part)
            refuse_misfits(found.provenance)
            validate.one_of(HEADLINES, verdict=found.verdict)
            validate.open_unit(confidence=found.confidence)
            validate.positive_int(num_claims=found.num_claims, distance=found.recipe["distance"])
            notion_from_plain(found.recipe["notion"])
            if found.recipe.get("subject") is not None:
                subject = validate.check_table("the recipe's subject", found.recipe["subject"])
                _texts([subject["kind"]])
            # A result is valid only if it can be written and displayed.
            found.to_json()
            str(found)
            return found
        except Exception as error:  # Untrusted text may raise any exception.
            raise ValueError(f"text is not a dpjax audit result: {error!r}.") from error

    @classmethod
    def from_file(cls, path: str | Path) -> "AuditResult":
        """Read a result from a file that contains the output of `to_json` or a page from `report`.

        The function does not run any code in the file.

        Args:
            path: Path of the file, which ends in .html if the file is a page.

        Raises:
            FileNotFoundError: If the file does not exist.
            ValueError: If the path is not a file, or if the file is too large or contains no
                result.
        """
        path = as_path("path", path)
        text = read_document("result file", path)
        if not text.strip():
            raise ValueError(
                f"result file {path} is empty: an audit that was killed prints no result, and the "
                "shell empties the FILE of `--resume FILE --json > FILE` before dpjax reads it. "
                "Print to another file, or use `--report FILE.html`, which keeps the old file "
                "until the new one is complete."
            )
        try:
            if path.suffix.lower() in (".html", ".htm"):
                from dpjax.report import result_of_page

                text = result_of_page(text)
            return cls.from_json(text)
        except ValueError as error:
            raise ValueError(f"result file {path} cannot be read: {error}") from None

    def row(self) -> JsonObject:
        """Return the result as a row for a table: main numbers, verdict, time and pair."""
        names = (
            "mechanism",
            "claim",
            "lower_bound",
            "estimate",
            "upper_bound",
            "confidence",
            "verdict",
        )
        row = {name: getattr(self, name) for name in names}
        pair = None if self.witness is None else self.witness.pair
        return {**row, "seconds": self.seconds, "pair": pair}

    def _figure(self) -> "Figure":
        return figure_of(self)

    def _small_figure(self) -> "Figure":
        return levels_figure(self)

    def _glance(self) -> Glance:
        verdict = Verdict(self.verdict, f"{self.mechanism}: {self.verdict}", self.sentence)
        return Glance(f"Audit of {self.mechanism}", verdict, self._rows())

    def page(self, kind: str = ".html", name: str = "audit.json") -> Page:
        """Build the page that `report` writes; its figures need matplotlib.

        Args:
            kind: Kind of page: ".html", which has figures, or ".md", which has none.
            name: Name of the page's file.
        """
        from dpjax.results._page import page_of

        html = kind == ".html"
        return page_of(self, self.to_dict(), name if html else "audit.json", drawn=html)

    def _document(self, path: Path) -> tuple[Page, dict[Path, str | bytes]]:
        return self.page(path.suffix.lower(), path.name), {}

    def __repr__(self) -> str:
        return neutral(
            f"AuditResult({self.mechanism}: {self.verdict}, {self.level} >= {self.lower_bound:.4f} "
            f"with confidence {confidence_text(self.confidence)})"
        )

    def __str__(self) -> str:
        rows = self._rows()
        rows += [("doubt", doubt) for doubt in self.doubts]
        rows += [("note", note) for note in self.notes]
        # Names, labels and columns are untrusted text, so control characters are escaped.
        title = neutral(f"{self.mechanism}{parameters_text(self.parameters)}")
        verdict = printed_row(f"{self.verdict.upper()}:", neutral(self.sentence), padded=False)
        lines = [printed_row(name, neutral(text)) for name, text in rows]
        return "\n".join([title, verdict, *lines])

    def _rows(self) -> Rows:
        """Return the rows that `print` shows, each of which is a pair (name, text)."""
        witness, observed = self.witness, self.evidence
        sure = self.sure
        rows = shown_rows(self, observed.counted.rows(self.statement, sure))
        if (down := self.refuted_at) is not None:
            rows.insert(1, ("refuted", f"the claim, at every error probability down to {down}"))
        if witness is not None and witness.densities is not None:
            kind = "density" if witness.bandwidth is not None else "probability"
            first, second = witness.densities
            rows.append(("witness", f"{witness.pair}, output {_short(witness.output)}"))
            rows.append((kind, f"{first:.4g} at the database, {second:.4g} at the neighbor"))
        if witness is not None and witness.difference is not None:
            rows.append(("databases", witness.difference))
        elif witness is not None and witness.pair.endswith(VARIED):
            sides = f"{short(witness.database)} and its neighbor {short(witness.neighbor)}"
            rows.append(("databases", sides))
        if (draws := observed.draws()) is not None:
            rows.append(("draws", draws))
        if observed.region not in (None, EVERYWHERE):
            rows.append(("region", observed.region))
        return rows


def parameters_text(parameters: JsonObject) -> str:
    """Return a mechanism's parameters in parentheses, or "" if the mechanism has none."""
    inside = ", ".join(
        f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in parameters.items()
    )
    return f"({inside})" if inside else ""


def _short(output: object) -> str:
    if isinstance(output, float):
        return f"{output:.8g}"
    if isinstance(output, list):
        return "[" + ", ".join(f"{v:.4g}" for v in output) + "]"
    return str(output)


def _texts(content: object) -> tuple[str, ...]:
    """Convert a list of strings to a tuple; reject all other values, including a single string."""
    if not isinstance(content, list) or not all(isinstance(text, str) for text in content):
        raise TypeError(f"a list of strings was expected instead of {content!r}")
    return tuple(content)


def _make_tuples(content: JsonObject, *names: str) -> None:
    """Convert the named entries back to tuples, which JSON stores as lists."""
    for name in names:
        content[name] = None if content[name] is None else tuple(content[name])
