"""Studies of many runs: in threads, in any pool of workers, and searched by an optimiser.

The work is done by the extension module and by engines that exist: executors of `concurrent.futures`, Dask, submitit, Ray and
Optuna. A store remembers runs by their keys, so whatever is done is not done again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ssdlab._ssdlab import Error, Requests, Table, UsageError, _column, _half_width, _perform, _ratio, _Study
from ssdlab.policy import Trigger, Victim, _identity

if TYPE_CHECKING:
    import optuna

__all__ = ["Optimum", "Sweep", "optimize", "sweep"]

_Path = str | PathLike[str]
_Retry = Literal["failed", "all"] | None


def _toml(value: Any, levels: int = 64) -> str:
    """A value as TOML on one line; dicts keep their order."""
    if not levels:
        raise UsageError("study: values are nested deeper than 64 levels; a dict or list must not contain itself")
    if isinstance(value, Mapping):
        entries = (
            f"{json.dumps(str(key), ensure_ascii=False)} = {_toml(entry, levels - 1)}" for key, entry in value.items()
        )
        return "{ " + ", ".join(entries) + " }"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return "[" + ", ".join(_toml(entry, levels - 1) for entry in value) + "]"
    return json.dumps(fspath(value), ensure_ascii=False)


def _study(study: _Path | Mapping[str, Any], store: Path) -> _Study:
    """A study from its file, or from a dict with the same keys."""
    if not isinstance(study, Mapping):
        return _Study.open(study, store)
    text = "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in study.items())
    return _Study.parse(text, ".", store)


def _with(study: _Path | Mapping[str, Any], requests: Requests) -> Mapping[str, Any]:
    """A study that serves these requests: they are its section `input`."""
    if not isinstance(study, Mapping):
        raise UsageError("requests are for a study that is a dict; a file has its own section [input]")
    if "input" in study:
        raise UsageError("the study has an input, and requests are given; give one of them")
    given = requests._given()
    if "seed" in given:
        raise UsageError("requests: the seeds of a study are its key `seeds`; leave seed out of the requests")
    if "traces" in given:
        raise UsageError("requests: a study has no recordings in place of workloads; leave traces out")
    for name in ("workload", "trace"):
        if name in given and not isinstance(given[name], str | PathLike):
            raise UsageError(f"requests: a study keeps the name of a {name}; save this one to a file")
    tenants = given.get("tenants")
    if isinstance(tenants, Mapping):
        given["tenants"] = [f"{name}={text}" for name, text in tenants.items()]
    return {**study, "input": given}


def _tasks(tasks: list[str], store: str | None) -> list[str]:
    """What a worker does: some runs, one after the other."""
    return [_perform(task, store) for task in tasks]


class _RayJob:
    """A reference of Ray with the method of a job."""

    def __init__(self, get: Callable[[Any], Any], reference: Any) -> None:
        self._get = get
        self._reference = reference

    def result(self) -> Any:
        return self._get(self._reference)


def _ray() -> Callable[..., Any]:
    """Submits to a Ray that the caller has initialised."""
    import ray  # type: ignore[import-not-found, unused-ignore]

    if not ray.is_initialized():
        raise UsageError('executor="ray": Ray is not initialised; call ray.init() first')
    remote = ray.remote(_tasks)

    def submit(_function: Any, *arguments: Any) -> _RayJob:
        return _RayJob(ray.get, remote.remote(*arguments))

    return submit


def _submitter(executor: Any) -> Callable[..., Any]:
    if executor == "ray":
        return _ray()
    submit: Callable[..., Any] | None = getattr(executor, "submit", None)
    if submit is None:
        raise UsageError(f"executor: {executor!r} has no method `submit`; give an executor, or \"ray\"")
    return submit


def _submit(
    submit: Callable[..., Any], tasks: list[str], batch: int, store: Path, return_records: bool
) -> tuple[list[str], list[Exception]]:
    """Runs tasks by an executor. Returns the results, and what took workers away."""
    place = None if return_records else str(store.resolve())
    jobs = [submit(_tasks, tasks[i : i + batch], place) for i in range(0, len(tasks), batch)]
    results: list[str] = []
    lost: list[Exception] = []
    for job in jobs:
        try:
            results.extend(job.result())
        except Error:
            # A mistake, such as another version on a worker: it would repeat.
            raise
        except Exception as error:
            lost.append(error)
    return results, lost


class Sweep:
    """The results of a study in a store; they are read when they are asked for."""

    def __init__(self, study: _Study, store: Path, lost: Sequence[Exception] = ()) -> None:
        self._study = study
        self._store = store
        #: What took workers away; their runs are left.
        self.lost = list(lost)

    @property
    def name(self) -> str:
        """The name of the study."""
        return self._study.name

    @property
    def store(self) -> Path:
        """The folder of results."""
        return self._store

    @property
    def status(self) -> dict[str, Any]:
        """Counts: points, runs, done, refused, failed, left, and CPU seconds."""
        return self._study.status(self._store)

    @property
    def table(self) -> Table:
        """One row a run, with what it cost."""
        return self._study.table(self._store, False, True)

    @property
    def tidy(self) -> Table:
        """One row a run and measure."""
        return self._study.table(self._store, True, True)

    def __len__(self) -> int:
        return len(self._study)

    def __repr__(self) -> str:
        return f"<ssdlab.Sweep {self.name}: {len(self)} points in {self._store}>"

    def _by_point(self, measure: str) -> list[dict[int, float]]:
        """By point: the values of a measure by seed; it has a name here, and one in comparisons."""
        table = self._study.table(self._store, False, True)
        values: list[dict[int, float]] = [{} for _ in range(len(self))]
        numbers: Any = (table[name].to_list() for name in ("point", "seed", _column(measure)))
        for point, seed, value in zip(*numbers, strict=True):
            if value is not None:
                values[point - 1][seed] = float(value)
        return values

    def _means(self, measure: str) -> list[float | None]:
        return [sum(seeds.values()) / len(seeds) if seeds else None for seeds in self._by_point(measure)]

    def best(self, measure: str, goal: Literal["min", "max"] = "min") -> dict[str, Any]:
        """The point with the least (`goal="min"`) or greatest (`"max"`) mean of `measure` over its seeds: its number, values and mean.

        Where the study varies traces or workloads, these are no choice, and the best is a design: its values on the other axes, as
        `points` the numbers of its points, and as `ratio` the geometric mean of their ratios to the baseline (the study's, else the
        first point's design). `best_by_workload` has the best point for each.
        """
        design, points = self._best(measure, goal)
        values = self._study.values()
        if not self._study.workloads():
            place, mean = points[0]
            return {"point": place + 1, **values[place], measure: mean}
        if design is None:
            raise UsageError(f"no design has a ratio of {measure} to the baseline for each workload: runs are missing, or a value is 0")
        places, ratio = design
        chosen = {key: value for key, value in values[places[0]].items() if key not in self._study.workloads()}
        return {**chosen, "points": [place + 1 for place in places], "ratio": ratio}

    def best_by_workload(self, measure: str, goal: Literal["min", "max"] = "min") -> list[dict[str, Any]]:
        """The point with the least (`goal="min"`) or greatest (`"max"`) mean of `measure` over its seeds for each trace or workload, in
        their order: its number, values and mean.
        """
        values = self._study.values()
        return [{"point": place + 1, **values[place], measure: mean} for place, mean in self._best(measure, goal)[1]]

    def _best(self, measure: str, goal: str) -> tuple[tuple[list[int], float] | None, list[tuple[int, float]]]:
        more = _sign(goal) < 0
        design, points = self._study.best([list(seeds.values()) for seeds in self._by_point(measure)], more)
        if not points:
            raise UsageError(f"no run has a value of {measure}")
        return design, points

    def pareto(
        self, x: str, y: str, goals: tuple[Literal["min", "max"], Literal["min", "max"]] = ("min", "min")
    ) -> list[dict[str, Any]]:
        """The points that no other point beats in both measures `x` and `y`, by rising x; `goals` has the goal of each.

        Where the study varies traces or workloads, each has a front of its own, one after the other.
        """
        signs = [_sign(goal) for goal in goals]
        values, workloads = self._study.values(), self._study.workloads()
        means = list(zip(self._means(x), self._means(y), strict=True))
        known: dict[tuple[Any, ...], list[tuple[float, float, int]]] = {}
        for i, (a, b) in enumerate(means):
            if a is not None and b is not None:
                own = tuple(values[i][key] for key in workloads)
                known.setdefault(own, []).append((signs[0] * a, signs[1] * b, i))
        fronts: list[dict[str, Any]] = []
        for points in known.values():
            front: list[dict[str, Any]] = []
            least = float("inf")
            for a, b, i in sorted(points):
                if b < least:
                    least = b
                    front.append({"point": i + 1, **values[i], x: signs[0] * a, y: signs[1] * b})
            fronts += front if signs[0] > 0 else front[::-1]
        return fronts

    def ci(self, measure: str, by: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Mean and 95 % confidence interval (Student's t) of `measure`, for each combination of the axes `by` (by default all).

        `half_width` is half the width of the interval, None with one value. With a baseline in the study, `difference` is the
        mean of the differences from it, paired by the other axes and the seed, and `difference_half_width` its interval; `ratio` is
        the geometric mean of the ratios of the same pairs, between `ratio_low` and `ratio_high`: None where a value is 0.
        """
        labels = [axis["label"] for axis in self._study.axes()]
        by = labels if by is None else list(by)
        if unknown := [key for key in by if key not in labels]:
            raise UsageError(f"by: no axis is called {unknown[0]!r}; the axes are {', '.join(labels)}")
        values, seeds, base = self._study.values(), self._by_point(measure), self._study.baseline()
        groups: dict[tuple[Any, ...], list[int]] = {}
        for i, point in enumerate(values):
            groups.setdefault(tuple(point[key] for key in by), []).append(i)
        rows = []
        for key, points in groups.items():
            own = [value for i in points for value in seeds[i].values()]
            row: dict[str, Any] = dict(zip(by, key, strict=True))
            row |= {"n": len(own), "mean": sum(own) / len(own) if own else None, "half_width": _half_width(own)}
            if any(place is not None for place in base):
                pairs = [
                    (value, seeds[place][seed])
                    for i in points
                    if (place := base[i]) is not None
                    for seed, value in seeds[i].items()
                    if seed in seeds[place]
                ]
                differences = [value - other for value, other in pairs]
                row["difference"] = sum(differences) / len(pairs) if pairs else None
                row["difference_half_width"] = _half_width(differences)
                ratio = _ratio([value for value, _ in pairs], [other for _, other in pairs])
                row["ratio"], row["ratio_low"], row["ratio_high"] = ratio or (None, None, None)
            rows.append(row)
        return rows


def _sign(goal: str) -> int:
    if goal not in ("min", "max"):
        raise UsageError(f"{goal!r} is no goal; the goals are \"min\" and \"max\"")
    return 1 if goal == "min" else -1


def sweep(
    study: _Path | Mapping[str, Any],
    store: _Path,
    executor: Any = None,
    *,
    batch: int = 1,
    jobs: int | None = None,
    shard: str | None = None,
    time_limit: str | None = None,
    retry: _Retry = None,
    claim: bool = False,
    check: Literal["off", "sampled", "full"] = "sampled",
    memory_limit: int | str | None = None,
    fill_cache: _Path | None = None,
    return_records: bool = False,
    progress: bool | Literal["auto"] | Callable[..., Any] | None = "auto",
    victim: Victim | None = None,
    trigger: Trigger | None = None,
    requests: Requests | None = None,
) -> Sweep:
    """Runs what a store does not have of a study, and returns its results.

    Without an executor, `jobs` threads of this process run. Workers of an executor write to the store. Runs of lost workers are left.

    - `study`: the path of a study, or a dict with the same keys.
    - `store`: the folder of results.
    - `executor`: anything with `submit(function, *arguments)` whose jobs have `result()`: `concurrent.futures`,
      `dask.distributed.Client(...).get_executor()`, `submitit.AutoExecutor`; or `"ray"`.
    - `batch`: runs of one job of an executor.
    - `jobs`: threads; by default one a core, as far as memory allows. Results do not depend on it.
    - `shard`, `time_limit`, `claim`: as on the command line, `"1/4"`, `"55m"` and a flag.
    - `retry`: failures to try again: `"failed"`, `"all"`, or None for those of time, memory and kills.
    - `check`: how much the oracle checks: `"off"`, `"sampled"` or `"full"`; results do not depend on it.
    - `memory_limit`: of all devices together: bytes, or a text such as `"2GiB"`.
    - `fill_cache`: a folder for fillings that take longer than 5 s: the first process that fills a device keeps it there, the others
      read it. Results do not depend on it.
    - `return_records`: workers that share no file system with the store send their records back.
    - `progress`: `"auto"` (a line after 2 s, in terminals and notebooks), False, or a function of `(done, total, simulated_ns)`.
    - `victim`, `trigger`: policies written in Python, as for `run`. Every run has a copy of its own, so results do not depend on `jobs`
      and are those of `run`. Threads ask one after the other (unless Python is free-threaded). A store tells policies apart by the
      sources of their classes and by their state. Policies do not leave the process: they are not for executors.
    - `requests`: what every run serves, in place of the section `input` of a study that is a dict.
    """
    place = Path(store)
    if requests is not None:
        study = _with(study, requests)
    fillings = None if fill_cache is None else Path(fill_cache).resolve()
    policies = [policy for policy in (victim, trigger) if policy is not None]
    if policies and executor is not None:
        raise UsageError("victim and trigger are for runs in threads of this process; leave the executor out")
    parsed = _study(study, place)
    if policies:
        # Only this needs it.
        from ssdlab._bundled import _kept

        identity = _identity(*policies)
        parsed = parsed.with_policies(victim, trigger, identity, _kept(victim, trigger, identity))
    parsed.keep(place)
    if executor is None:
        if batch != 1 or return_records:
            raise UsageError("batch and return_records are for executors")
        parsed.run(
            place,
            jobs=jobs,
            shard=shard,
            time_limit=time_limit,
            retry=retry,
            claim=claim,
            check=check,
            memory_limit=memory_limit,
            fill_cache=fillings,
            progress=progress,
        )
        return Sweep(parsed, place)
    if jobs is not None or shard is not None or time_limit is not None or claim:
        raise UsageError("jobs, shard, time_limit and claim are for runs in threads; an executor has its own workers")
    if batch < 1:
        raise UsageError("batch: a job makes at least one run")
    submit = _submitter(executor)
    lost: list[Exception] = []
    tried: set[str] = set()
    # Under `until`, further seeds follow from the results of earlier ones.
    while tasks := [
        task
        for task in parsed.tasks(place, retry=retry, check=check, memory_limit=memory_limit, fill_cache=fillings)
        if json.loads(task)["key"] not in tried
    ]:
        tried.update(json.loads(task)["key"] for task in tasks)
        results, gone = _submit(submit, tasks, batch, place, return_records)
        lost += gone
        if return_records:
            parsed.put(place, results)
    return Sweep(parsed, place, lost)


class Optimum:
    """What a search found."""

    def __init__(self, sweep: Sweep, study: optuna.Study, objectives: list[str]) -> None:
        #: All trials as points of a study.
        self.sweep = sweep
        #: The study of Optuna.
        self.study = study
        self._objectives = objectives

    @property
    def best(self) -> list[dict[str, Any]]:
        """The trials that no other trial beats: values of the axes and of the objectives; one trial for one objective."""
        found = [self.study.best_trial] if len(self._objectives) == 1 else self.study.best_trials
        return [
            {**trial.user_attrs["values"], **dict(zip(self._objectives, trial.values, strict=True))} for trial in found
        ]

    def __repr__(self) -> str:
        return f"<ssdlab.sweep.Optimum of {len(self.study.trials)} trials>"


def _sampler(sampler: Any, seed: int) -> Any:
    import optuna

    if not isinstance(sampler, str):
        return sampler
    known = {"nsga2": "NSGAIISampler", "tpe": "TPESampler", "cmaes": "CmaEsSampler"}
    if sampler not in known:
        raise UsageError(f"sampler: {sampler!r} is not one of {', '.join(known)}, nor a sampler of Optuna")
    return getattr(optuna.samplers, known[sampler])(seed=seed)


def _choose(trial: Any, axes: list[dict[str, Any]]) -> list[float]:
    """The value of each axis in a trial: the place in a list, or the number in a range."""
    numbers: list[float] = []
    for axis in axes:
        label = axis["label"]
        if "values" in axis:
            names = [str(value) for value in axis["values"]]
            numbers.append(names.index(trial.suggest_categorical(label, names)))
        elif axis["whole"]:
            numbers.append(trial.suggest_int(label, round(axis["from"]), round(axis["to"]), log=axis["log"]))
        else:
            numbers.append(trial.suggest_float(label, axis["from"], axis["to"], log=axis["log"]))
    return numbers


def optimize(
    study: _Path | Mapping[str, Any],
    objectives: Mapping[str, Literal["min", "max"]],
    *,
    sampler: Literal["nsga2", "tpe", "cmaes"] | Any = "tpe",
    trials: int = 100,
    store: _Path,
    executor: Any = None,
    batch: int = 8,
    storage: Any = None,
    seed: int = 1,
    check: Literal["off", "sampled", "full"] = "sampled",
    fill_cache: _Path | None = None,
) -> Optimum:
    """Searches the axes of a study for the best means of some measures, with Optuna.

    Trials are ordinary points: what the store has is not run again, and every trial is in the table. Lists are categories, ranges are
    numbers; the design of the study is not used. A trial that is refused or fails counts as failed. With one seed and no executor the
    trials repeat.

    - `study`, `store`, `executor`, `check`, `fill_cache`: as for `sweep`.
    - `objectives`: a dict of measures, each with its goal, `"min"` or `"max"`.
    - `sampler`: `"tpe"`, `"nsga2"`, `"cmaes"`, or a sampler of Optuna.
    - `trials`: how many there are at the end, those of `storage` included.
    - `batch`: trials in flight, with an executor.
    - `storage`: the file of a journal, or a storage of Optuna: a search that it holds goes on.
    - `seed`: seed of the sampler.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.trial import TrialState

    if not objectives:
        raise UsageError("objectives: name at least one measure and its goal")
    names = list(objectives)
    place = Path(store)
    fillings = None if fill_cache is None else Path(fill_cache).resolve()
    parsed = _study(study, place)
    parsed.keep(place)
    if isinstance(storage, str | PathLike):
        storage = JournalStorage(JournalFileBackend(fspath(storage)))
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        search = optuna.create_study(
            study_name=parsed.name,
            storage=storage,
            sampler=_sampler(sampler, seed),
            directions=["minimize" if _sign(goal) > 0 else "maximize" for goal in objectives.values()],
            load_if_exists=True,
        )
        axes = parsed.axes()
        submit = None if executor is None else _submitter(executor)
        width = 1 if executor is None else max(batch, 1)
        while len(search.trials) < trials:
            asked = [search.ask() for _ in range(min(width, trials - len(search.trials)))]
            points = [_choose(trial, axes) for trial in asked]
            # Equal points of a batch are one point of a study, so each trial is a study of its own.
            studies = [parsed.at([point]) for point in points]
            tasks: dict[str, str] = {}
            for one in studies:
                for task in one.tasks(place, retry=None, check=check, memory_limit=None, fill_cache=fillings):
                    tasks[json.loads(task)["key"]] = task
            if submit is None:
                _tasks(list(tasks.values()), str(place))
            elif tasks:
                _submit(submit, list(tasks.values()), 1, place, False)
            for trial, point, one in zip(asked, points, studies, strict=True):
                result = Sweep(one, place)
                means = [mean for name in names if (mean := result._means(name)[0]) is not None]
                trial.set_user_attr("values", one.values()[0])
                trial.set_user_attr("choice", point)
                if len(means) < len(names):
                    search.tell(trial, state=TrialState.FAIL)
                else:
                    search.tell(trial, means)
    finally:
        optuna.logging.set_verbosity(level)
    choices = [trial.user_attrs["choice"] for trial in search.trials if "choice" in trial.user_attrs]
    return Optimum(Sweep(parsed.at(choices), place), search, names)
