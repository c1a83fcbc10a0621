"""The tables of learning, where Django looks for them; each feature's folder has its own."""

from apps.learning.contradictions.models import Contradiction, ContradictionScan
from apps.learning.digest_models import DigestClaim, DigestRun
from apps.learning.extraction_models import Extraction, ExtractionClaim
from apps.learning.lessons.example_models import Example
from apps.learning.lessons.models import EditCluster, EditClusterCase, LearningVersion, Lesson, LessonCase
from apps.learning.reflection_models import Reflection
from apps.learning.tier_models import TierClock, TierRun

__all__ = [
    "Contradiction",
    "ContradictionScan",
    "DigestClaim",
    "DigestRun",
    "EditCluster",
    "EditClusterCase",
    "Example",
    "Extraction",
    "ExtractionClaim",
    "LearningVersion",
    "Lesson",
    "LessonCase",
    "Reflection",
    "TierClock",
    "TierRun",
]
