from hackathon.api.diagnosis import DiagnosisReport as DiagnosisReport
from hackathon.api.diagnosis import diagnose as diagnose
from hackathon.api.exports import StudyExport as StudyExport
from hackathon.api.prediction import PredictedSize as PredictedSize
from hackathon.api.prediction import ThroughputForecast as ThroughputForecast
from hackathon.api.prediction import predict as predict
from hackathon.api.project import HackathonProject as HackathonProject
from hackathon.api.project import HackathonRun as HackathonRun
from hackathon.api.project import HackathonStudy as HackathonStudy
from hackathon.api.project import Runs as Runs
from hackathon.api.project import Studies as Studies
from hackathon.api.project import project as project
from hackathon.api.project import render as render
from hackathon.api.project import submit as submit
from hackathon.api.project import wait as wait
from hackathon.api.results import ResultDoubt as ResultDoubt
from hackathon.api.results import ResultPoint as ResultPoint
from hackathon.api.results import ResultRun as ResultRun
from hackathon.api.results import ResultSeries as ResultSeries
from hackathon.api.results import StudyResults as StudyResults
from hackathon.text.errors import HackathonError as HackathonError
from hackathon.text.errors import RequestError as RequestError
from hackathon.text.errors import UnavailableError as UnavailableError

__version__: str
archive: str | None
