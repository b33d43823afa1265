"""Running the workers of a pipeline with [workers]: one in this process, or several processes that end together."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import typer

from stream_bayes.cli.output import note, print_json
from stream_bayes.cli.runners import RunOptions
from stream_bayes.errors import BadConfig
from stream_bayes.streams.pipelines.config import PipelineConfig
from stream_bayes.streams.service.signals import stopping_on_signals

__all__ = ["run_processes", "run_worker", "run_workers"]

POLL_SECONDS = 0.2
END_SECONDS = 45.0  # for the other processes to end after one has


def run_workers(config: PipelineConfig, options: RunOptions) -> int:
    """Run a worker in this process, or several as processes; return the exit code."""
    if refused := options.of_one_engine:
        raise BadConfig(
            f"{', '.join(refused)}: is not for a pipeline with [workers], whose state is in its topics; to "
            "begin anew, give it another name"
        )
    if config.ops is not None and options.ops_port is not None:
        config = config.model_copy(update={"ops": config.ops.model_copy(update={"port": options.ops_port})})
    if options.processes is not None:
        passed = [f"--from={options.start}"] if options.start is not None else []
        passed += ["--accept-gap"] * options.accept_gap + ["--until-end"] * options.until_end
        passed += ["--log-json"] * options.log_json + ["--json"] * options.json
        first_port = None if config.ops is None else config.ops.port
        return run_processes(options.file, options.processes, options.instance_id, passed, first_port)
    run_worker(config, options)
    return 0


def run_worker(config: PipelineConfig, options: RunOptions) -> None:
    """Run one worker until a signal comes, and print its figures."""
    from stream_bayes.workers.metrics import serving_worker
    from stream_bayes.workers.pipeline.parts import build_worker

    worker = build_worker(
        config, options.file.parent, instance_id=options.instance_id, accept_gap=options.accept_gap
    )
    assert config.kafka is not None and config.workers is not None
    lines = [
        f"Kafka client: {config.kafka.client}; {config.workers.shards} shards, published in {config.name}.model"
    ]
    if config.snapshots is not None:
        lines.append(
            f"Snapshots are in the topic {config.name}.state, as often as [snapshots] has it; nothing "
            f"is written to {config.snapshots.directory}"
        )
    note(lines, quiet=options.quiet)
    with ExitStack() as around:
        if config.ops is not None:
            around.enter_context(serving_worker(worker, config.ops.host, config.ops.port, config.ops.hosts))
        with stopping_on_signals(worker.stop):
            worker.run(until_end=options.until_end)
    summary = worker.summary()
    if options.json:
        print_json(summary)
    else:
        typer.echo(f"{summary['records']:,} records in this run, {summary['rebalances']} rebalances")


def run_processes(
    file: Path, count: int, instance_id: str | None, options: list[str], port: int | None
) -> int:
    """Start workers as processes, and end them together. Return the first exit code that is not 0. `instance_id` is the
    prefix of their ids; `port` is that of the first one's metrics, and the others take the next ones. None for no ids,
    and for no metrics.
    """
    if count < 1:
        raise BadConfig(f"--workers: expected at least 1, got {count}")
    commands = [
        [sys.executable, "-m", "stream_bayes", "run", str(file), *options]
        + ([] if instance_id is None else ["--instance-id", f"{instance_id}-{number}"])
        + ([] if not port else ["--ops-port", str(port + number)])
        for number in range(count)
    ]
    stopping = False

    def stop() -> None:
        nonlocal stopping
        stopping = True

    processes: list[subprocess.Popen[bytes]] = []
    with stopping_on_signals(stop):
        try:
            processes += map(subprocess.Popen, commands)
            while not stopping and all(process.poll() is None for process in processes):
                time.sleep(POLL_SECONDS)
            if not stopping and all(process.poll() in (None, 0) for process in processes):
                for process in processes:  # with --until-end each ends by itself
                    while process.poll() is None and not stopping:
                        time.sleep(POLL_SECONDS)
        finally:
            _end(processes)
    return next((process.returncode for process in processes if process.returncode), 0)


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End processes by SIGTERM, or kill those that do not end in time."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + END_SECONDS
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
