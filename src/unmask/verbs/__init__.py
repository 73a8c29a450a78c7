"""The verbs: one function for each command, and the same function for a library call.

In: paths and plain settings. Out: the results of `unmask.results`. The signature is the command's help, and
what is heavy is imported inside the functions, so that asking for help loads no engine.

A verb is added by writing it below `@verb` in one of these modules: the command line, `import unmask` and `--help`
take it from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# A folder that has the name of a verb is loaded before it: loading one later would put the folder in the verb's place.
import unmask.demo
import unmask.runs  # noqa: F401

# isort: off
# In the order of `unmask --help`, which is the order of a journey.
from unmask.verbs.journey import *  # noqa: F403
from unmask.verbs.data import *  # noqa: F403
from unmask.verbs.hiding import *  # noqa: F403
from unmask.verbs.training import *  # noqa: F403
from unmask.verbs.adapting import *  # noqa: F403
from unmask.verbs.using import *  # noqa: F403
from unmask.verbs.scoring import *  # noqa: F403
from unmask.verbs.embedding import *  # noqa: F403
from unmask.verbs.searching import *  # noqa: F403
from unmask.verbs.writing import *  # noqa: F403
from unmask.verbs.tuning import *  # noqa: F403
from unmask.verbs.predicting import *  # noqa: F403
from unmask.verbs.explaining import *  # noqa: F403
from unmask.verbs.exporting import *  # noqa: F403
from unmask.verbs.serving import *  # noqa: F403
from unmask.verbs.environment import *  # noqa: F403
# isort: on

from unmask.verbs.commands import COMMANDS

if not TYPE_CHECKING:  # a type checker sees the functions as they stand, and could not follow this
    __all__ = [*COMMANDS]
