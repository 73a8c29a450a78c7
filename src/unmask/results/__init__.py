"""What the verbs give back: typed, printable, and JSON by `to_json`.

Every dataclass of these modules is public under its name: `unmask.Figure`, and so on.
"""

from dataclasses import is_dataclass
from typing import TYPE_CHECKING

from unmask.results.adapting import Adapted as Adapted
from unmask.results.adapting import Mixture as Mixture
from unmask.results.adapting import NewWords as NewWords
from unmask.results.answering import Answered as Answered
from unmask.results.answering import AnswerError as AnswerError
from unmask.results.answering import JudgedAnswerBaseline as JudgedAnswerBaseline
from unmask.results.answering import JudgedAnswers as JudgedAnswers
from unmask.results.corpus import Collocated as Collocated
from unmask.results.corpus import LanguageTokens as LanguageTokens
from unmask.results.corpus import Phrase as Phrase
from unmask.results.corpus import Prepared as Prepared
from unmask.results.corpus import TokenizerSweep as TokenizerSweep
from unmask.results.corpus import Verified as Verified
from unmask.results.corpus import VocabularySize as VocabularySize
from unmask.results.evaluation import Breakdown as Breakdown
from unmask.results.evaluation import Calibration as Calibration
from unmask.results.evaluation import ComparedRun as ComparedRun
from unmask.results.evaluation import Comparison as Comparison
from unmask.results.evaluation import Consistency as Consistency
from unmask.results.evaluation import Dependence as Dependence
from unmask.results.evaluation import Evaluated as Evaluated
from unmask.results.evaluation import Probed as Probed
from unmask.results.evaluation import ProbedItem as ProbedItem
from unmask.results.evaluation import ProbedPhenomenon as ProbedPhenomenon
from unmask.results.evaluation import ProbeResult as ProbeResult
from unmask.results.evaluation import ReliabilityBin as ReliabilityBin
from unmask.results.explaining import ExplainedLabel as ExplainedLabel
from unmask.results.explaining import Flip as Flip
from unmask.results.explaining import LabelWord as LabelWord
from unmask.results.explaining import WordChange as WordChange
from unmask.results.few import FewDraw as FewDraw
from unmask.results.few import FewMethod as FewMethod
from unmask.results.few import FewTuned as FewTuned
from unmask.results.figures import Figure as Figure
from unmask.results.figures import FigureTitle as FigureTitle
from unmask.results.filling import Agreement as Agreement
from unmask.results.filling import Explained as Explained
from unmask.results.filling import Filled as Filled
from unmask.results.filling import Filling as Filling
from unmask.results.filling import Guess as Guess
from unmask.results.filling import WordRelevance as WordRelevance
from unmask.results.hiding import Audited as Audited
from unmask.results.hiding import Hardness as Hardness
from unmask.results.hiding import PolicyHardness as PolicyHardness
from unmask.results.hiding import Shown as Shown
from unmask.results.hiding import ShownToken as ShownToken
from unmask.results.machine import CompletionScript as CompletionScript
from unmask.results.machine import Examined as Examined
from unmask.results.machine import ExtraStatus as ExtraStatus
from unmask.results.machine import GpuStatus as GpuStatus
from unmask.results.machine import LibraryStatus as LibraryStatus
from unmask.results.plain import to_json as to_json
from unmask.results.plain import to_plain as to_plain
from unmask.results.retrieval import Expanded as Expanded
from unmask.results.retrieval import JudgedRetrieval as JudgedRetrieval
from unmask.results.retrieval import JudgedSimilarity as JudgedSimilarity
from unmask.results.retrieval import PairError as PairError
from unmask.results.retrieval import QueryError as QueryError
from unmask.results.retrieval import Relevance as Relevance
from unmask.results.retrieval import RetrievalWay as RetrievalWay
from unmask.results.retrieval import Similarity as Similarity
from unmask.results.retrieval import SimilarityBaseline as SimilarityBaseline
from unmask.results.retrieval import WordWeight as WordWeight
from unmask.results.scoring import Rescored as Rescored
from unmask.results.scoring import Scored as Scored
from unmask.results.scoring import TokenSurprisal as TokenSurprisal
from unmask.results.searching import Embedded as Embedded
from unmask.results.searching import Hit as Hit
from unmask.results.searching import Indexed as Indexed
from unmask.results.searching import NearPair as NearPair
from unmask.results.searching import NearTexts as NearTexts
from unmask.results.searching import Searched as Searched
from unmask.results.searching import VectorsWritten as VectorsWritten
from unmask.results.tagging import Entity as Entity
from unmask.results.tagging import JudgedEntities as JudgedEntities
from unmask.results.tagging import JudgedTagBaseline as JudgedTagBaseline
from unmask.results.tagging import JudgedTags as JudgedTags
from unmask.results.tagging import TagError as TagError
from unmask.results.tagging import Tagged as Tagged
from unmask.results.training import Demonstrated as Demonstrated
from unmask.results.training import Planned as Planned
from unmask.results.training import PlanVsRun as PlanVsRun
from unmask.results.training import ProductSpeed as ProductSpeed
from unmask.results.training import RunList as RunList
from unmask.results.training import RunStatus as RunStatus
from unmask.results.training import Suggested as Suggested
from unmask.results.training import Trained as Trained
from unmask.results.training import Validation as Validation
from unmask.results.tuning import Confusion as Confusion
from unmask.results.tuning import Judged as Judged
from unmask.results.tuning import JudgedBaseline as JudgedBaseline
from unmask.results.tuning import JudgedLabel as JudgedLabel
from unmask.results.tuning import Overlap as Overlap
from unmask.results.tuning import Predicted as Predicted
from unmask.results.tuning import Prediction as Prediction
from unmask.results.tuning import SeedSpread as SeedSpread
from unmask.results.tuning import SureError as SureError
from unmask.results.tuning import Tuned as Tuned
from unmask.results.tuning import TunedComparison as TunedComparison
from unmask.results.tuning import TunedContender as TunedContender
from unmask.results.tuning import TunedDifference as TunedDifference
from unmask.results.tuning import TunedTrial as TunedTrial
from unmask.results.writing import Exported as Exported
from unmask.results.writing import Generated as Generated
from unmask.results.writing import Revealed as Revealed
from unmask.results.writing import Written as Written

if not TYPE_CHECKING:  # a type checker sees the names as they stand, and could not follow this
    __all__ = [name for name, value in globals().items() if is_dataclass(value) and value.__name__ == name]
