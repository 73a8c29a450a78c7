"""A model that stays in memory and answers: `unmask.load`.

    model = unmask.load("run")
    model.fill("Paris is the [MASK] of France.")[0].completed
    model.score("Paris is the capital of France.")[0].bits_per_byte
    model.embed(["A text.", "Another."])                        # an array, a row for each
    model.search("index", "wing flutter at high speed")[0].hits
    model.generate(prefix="The river", length=60)[0].text

In: a run, any directory with a model of transformers, or a name on the hub. Out: an object whose methods are the
verbs of `unmask`; nothing is loaded twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from unmask.errors import BadInput
from unmask.models.load import LoadedModel, load_model
from unmask.models.locate import TASK, model_directory
from unmask.models.settings import is_span_model
from unmask.quantities import quoted
from unmask.results import Explained, ExplainedLabel, Filled, Generated, Prediction, Scored, Searched
from unmask.tokens.windows import OnLong

if TYPE_CHECKING:  # what answers is loaded with the first question
    from unmask.inference.embed import TextVector
    from unmask.inference.explain_label import LabelExplainer
    from unmask.inference.fill import FillSettings
    from unmask.inference.index import Index
    from unmask.inference.method import WritingMethod
    from unmask.inference.score import Scorer
    from unmask.inference.search import By
    from unmask.inference.vectors import Encoder
    from unmask.inference.word_weights import WordWeigher
    from unmask.tasks.tuned_model import Line, TunedModel


Answer = TypeVar("Answer")


def load(
    path: str | Path, *, device: str | None = None, precision: str = "float32", revision: str | None = None
) -> Model:
    """A model to ask: of a run, of any directory with a model of transformers, or of a name on the hub.

    What a question needs is loaded with the first question of its kind, and stays.

    Args:
        path: A run, a model directory, or a name on the hub (`org/name`, or `hf:name`), fetched once.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in: float32, bfloat16 or float16.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    return Model(model_directory(Path(path), revision), device, precision)


class Model:
    """A model that stays in memory; its methods are the verbs."""

    def __init__(self, path: Path, device: str | None, precision: str, step: int | None = None) -> None:
        self.path, self.device, self.precision, self.step = path, device, precision, step

    def at_step(self, step: int) -> Model:
        """The model of a run as it filled blanks after so many steps, if that moment was kept."""
        if self.spells_gaps:
            raise BadInput(f"--step {step}: {self.path} is a T5, and moments are asked of masked language models")
        return Model(self.path, self.device, self.precision, step)

    @cached_property
    def masked(self) -> LoadedModel:
        """The masked language model, which fills blanks."""
        if self.step is not None:
            from unmask.inference.moments import model_at_step

            return model_at_step(self.path, self.step, device=self.device, precision=self.precision)
        return load_model(self.path, device=self.device, precision=self.precision)

    @cached_property
    def spells_gaps(self) -> bool:
        """Whether it is a T5, whose decoder spells out what stands in a gap."""
        return is_span_model(self.path)

    @cached_property
    def encoder(self) -> Encoder:
        """The part that turns texts into vectors."""
        from unmask.inference.vectors import load_encoder

        return load_encoder(self.path, device=self.device, precision=self.precision)

    @cached_property
    def weigher(self) -> WordWeigher:
        """What weighs the words of texts, where the model was tuned for that."""
        from unmask.inference.word_weights import weigher_of

        return weigher_of(self.tuned)

    @property
    def head(self) -> str:
        """What an index is made by: sparse, weighted words, where the model was tuned for those; else dense."""
        from unmask.inference.word_weights import retrieval_head

        head = retrieval_head(self.path)
        if head == "cross":
            raise BadInput(
                f"{self.path}: reads query and document together and makes no index; search --rerank asks it"
            )
        return head or "dense"

    @property
    def index_encoder(self) -> Encoder | WordWeigher:
        """What makes vectors or weighted words of passages."""
        return self.weigher if self.head == "sparse" else self.encoder

    @cached_property
    def encoder_digest(self) -> str:
        """What vectors and indexes are bound to: a digest of weights, settings and tokenizer."""
        from unmask.inference.vectors import encoder_digest

        return encoder_digest(self.path)

    @cached_property
    def tuned(self) -> TunedModel:
        """The model as it was tuned to its task."""
        from unmask.tasks.tune import load_tuned

        return load_tuned(self.path, device=self.device, precision=self.precision)

    def predict(self, *texts: str | list[str], pairs: Sequence[str] | None = None) -> list[Prediction]:
        """What a tuned model says of texts, or of pairs of texts; of lists of words, where it takes them."""
        if pairs is None:
            return _all_good([str(text) for text in texts], self.predict_each(texts))
        lines = [(str(text), pair) for text, pair in zip(texts, pairs, strict=True)]
        return _all_good([text for text, _ in lines], self.predict_each(lines))

    def predict_each(self, lines: Sequence[Line]) -> list[Prediction | BadInput]:
        """The same; in the place of a text that cannot be used, what is wrong with it."""
        return self.tuned.predict_each(lines)

    def fill(self, *texts: str, **settings: Unpack[FillSettings]) -> list[Filled]:
        """Fill the blanks of texts; a text that cannot be filled is refused before the model is asked.

        Settings: top, targets, on_long, pieces, explain, as `unmask.fill` has them.
        """
        from unmask.inference.fill import fill_blanks

        if self.spells_gaps:
            from unmask.inference.fill_spans import fill_gaps

            return fill_gaps(self.writer, texts, **settings)
        return fill_blanks(self.masked, texts, **settings)

    def fill_each(self, texts: Sequence[str], **settings: Unpack[FillSettings]) -> list[Filled | BadInput]:
        """Fill the blanks of texts; in the place of one that cannot be filled, what is wrong with it."""
        from unmask.inference.fill import fill_good

        if self.spells_gaps:
            from unmask.inference.fill_spans import fill_good_gaps

            return fill_good_gaps(self.writer, texts, **settings)
        return fill_good(self.masked, texts, **settings)

    @property
    def is_tuned(self) -> bool:
        """Whether it was tuned to a task."""
        return (self.path / TASK).is_file()

    @cached_property
    def label_explainer(self) -> LabelExplainer:
        """What tells why it says a label, with the model that it started from."""
        from unmask.inference.explain_label import LabelExplainer
        from unmask.inference.replacements import find_replacer
        from unmask.tasks.classify.classifier import Classifier

        tuned = self.tuned
        if not isinstance(tuned, Classifier):
            raise BadInput(
                f"{self.path}: is tuned to {tuned.card.task}; what is explained is the label of a classifier"
            )
        return LabelExplainer(tuned, *find_replacer(self.path, tuned.reader.tokenizer, self.device))

    def explain(self, text: str, pair: str | None = None, **settings: Any) -> ExplainedLabel | tuple[Explained, ...]:
        """Which words of a text mattered: for the label of a classifier, else for what the blanks are filled with.

        Settings of a label: label, words, changes, as `unmask.explain` has them; of blanks those of `fill`.
        """
        if self.is_tuned:
            (explained,) = _all_good([text], self.explain_each([text if pair is None else (text, pair)], **settings))
            return explained
        settings["explain"] = True
        (filled,) = self.fill(text, **settings)
        return filled.explained

    def explain_each(
        self, lines: Sequence[str | tuple[str, str]], **settings: Any
    ) -> Iterator[ExplainedLabel | BadInput]:
        """Why a classifier says its labels; in the place of a text that cannot be used, what is wrong with it."""
        from unmask.inference.explain_label import LabelSettings

        asked, explainer = LabelSettings(**settings), self.label_explainer
        for line in lines:
            text, pair = (line, None) if isinstance(line, str) else line
            if not all(each is None or each.strip() for each in (text, pair)):
                yield BadInput("an empty text has no label")
                continue
            try:
                yield explainer.explain(text, pair, asked)
            except BadInput as error:
                yield error

    @cached_property
    def scorer(self) -> Scorer:
        """What says how likely a text is: the masked language model, or one that reads from left to right."""
        from unmask.inference.score import Scorer, trained_method
        from unmask.models.load_causal import is_causal_lm, load_causal

        if self.spells_gaps:
            return Scorer(self.writer, "spans")
        if is_causal_lm(self.path):
            return Scorer(load_causal(self.path, device=self.device, precision=self.precision), "likelihood")
        return Scorer(self.masked, trained_method(self.path) or "pseudo")

    def score(
        self,
        *texts: str,
        prefix: str = "",
        suffix: str = "",
        tokens: bool = False,
        stride: int | None = None,
        draws: int = 64,
        on_long: OnLong = "windows",
    ) -> list[Scored]:
        """How likely texts are; the settings are those of the verb. One that cannot be scored is refused."""
        settings = {"prefix": prefix, "suffix": suffix, "tokens": tokens, "stride": stride, "draws": draws}
        return _all_good(texts, self.score_each(texts, on_long=on_long, **settings))

    def score_each(self, texts: Sequence[str], **settings: Any) -> Iterator[Scored | BadInput]:
        """How likely texts are, in their order; in the place of one that cannot be scored, what is wrong with it."""
        from unmask.inference.score import ScoreSettings

        return self.scorer.score(texts, ScoreSettings(**settings))

    def embed(
        self,
        texts: Sequence[str],
        *,
        pooling: str | None = None,
        normalise: bool = False,
        dimensions: int | None = None,
        on_long: OnLong = "windows",
    ) -> NDArray[np.float32]:
        """Texts as vectors, N D; without a pooling, as the model's directory says, or the mean over tokens."""
        made = self.embed_each(texts, pooling=pooling, normalise=normalise, dimensions=dimensions, on_long=on_long)
        rows = [made_one.vector for made_one in _all_good(texts, made)]
        return np.stack(rows) if rows else np.zeros((0, dimensions or self.encoder.width), dtype=np.float32)

    def embed_each(
        self,
        texts: Sequence[str],
        *,
        pooling: str | None = None,
        normalise: bool = False,
        dimensions: int | None = None,
        on_long: OnLong = "windows",
    ) -> list[TextVector | BadInput]:
        """Texts as vectors with how each was read; in the place of one that cannot be, what is wrong with it."""
        from unmask.inference.embed import TextPooling, embed_texts
        from unmask.inference.sentence_layout import chosen_pooling, read_layout
        from unmask.inference.vector_store import normalised, shorten

        layout = read_layout(self.path)
        normalise = normalise or (layout is not None and layout.normalise)
        way = TextPooling.named(chosen_pooling(self.path, pooling), self.encoder)
        finished: list[TextVector | BadInput] = []
        for made in embed_texts(self.encoder, texts, way, on_long=on_long):
            if not isinstance(made, BadInput):
                vector = shorten(made.vector, dimensions)
                made = made._replace(vector=normalised(vector) if normalise else vector)
            finished.append(made)
        return finished

    def search(
        self, index: str | Path, *queries: str, by: By | None = None, top: int = 10, exact: bool = False
    ) -> list[Searched]:
        """The best passages of an index for each query; the index must have been made with this model."""
        from unmask.inference.index import Index

        return self.search_open(Index.open(Path(index)), queries, by=by, top=top, exact=exact)

    def search_open(
        self, index: Index, queries: Sequence[str], *, by: By | None = None, top: int = 10, exact: bool = False
    ) -> list[Searched]:
        """The same in an index that is open."""
        from unmask.inference.search import default_way, search_index
        from unmask.inference.vector_store import normalised

        index.check_model(self.encoder_digest, self.path)

        def embed(texts: Sequence[str]) -> NDArray[np.float32]:
            settings = index.settings
            if settings.head == "sparse":
                return np.asarray(self.weigher.weigh(texts).toarray(), dtype=np.float32)
            vectors = self.embed(texts, pooling=settings.pooling, dimensions=settings.dimensions)
            return normalised(vectors if index.whitening is None else index.whitening(vectors))

        return search_index(index, queries, embed, by=by or default_way(index), top=top, exact=exact)

    def rerank(self, found: Sequence[Searched], top: int = 10) -> list[Searched]:
        """What searches found, best first by this model, which was tuned to read a query and a passage together."""
        from unmask.inference.rerank import rerank, reranker_of

        return rerank(found, reranker_of(self.tuned), top)

    @cached_property
    def writing_method(self) -> WritingMethod:
        """How it writes text: diffusion, masked, causal or spans."""
        from unmask.inference.method import method_of

        return method_of(self.path)

    @cached_property
    def writer(self) -> LoadedModel:
        """The model that writes from left to right, where it is one."""
        from unmask.models.load_causal import load_causal
        from unmask.models.load_spans import load_spans

        loading = load_spans if self.writing_method == "spans" else load_causal
        return loading(self.path, device=self.device, precision=self.precision)

    def generate(self, *texts: str, **settings: Any) -> list[Generated]:
        """Write from nothing, behind a prefix or in the gaps of texts; the settings are those of `unmask.generate`."""
        results: list[Generated] = []
        for written in self.generate_each(texts, **settings):
            if isinstance(written, BadInput):
                raise written
            results += written
        return results

    def generate_each(
        self, texts: Sequence[str] = (), *, show: Callable[[list[str]], None] | None = None, **settings: Any
    ) -> Iterator[list[Generated] | BadInput]:
        """For each text its samples, or what is wrong with it; `show` is given the drafts while they are written."""
        from unmask.inference.generate import WritingSettings, write_masked
        from unmask.inference.sequential import write_in_turn

        asked = WritingSettings(**settings)
        asked.check(texts)
        if self.writing_method in ("diffusion", "masked"):
            return write_masked(self.masked, texts, asked, diffusion=self.writing_method == "diffusion", show=show)
        return write_in_turn(self.writer, texts, asked, show)


def _all_good(texts: Sequence[str], answers: Iterable[Answer | BadInput]) -> list[Answer]:
    """The answers to texts; the first text that has none is refused."""
    good = []
    for text, answer in zip(texts, answers, strict=True):
        if isinstance(answer, BadInput):
            raise BadInput(f"{quoted(text)}: {answer}")
        good.append(answer)
    return good
