"""The campaign on a real Slurm: same bytes as without it, whatever happens to its jobs."""

import time

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

RUNS = {name: f"runs/{name}/relative/seed-1" for name in ("screen", "larger", "exposure")}


def training_jobs(cluster, recipe):
    """The submissions of a recipe's run."""
    return [job for job in cluster.submissions() if f"train_run_wildcards_{recipe}" in job.comment]


def interrupt(cluster, site, engine, commands):
    """Give each recipe's run its command as soon as the run has saved a state, in whichever order they come."""
    waiting = dict(commands)
    while waiting:
        assert engine.poll() is None, site.printed[-4000:]
        for recipe in list(waiting):
            if list(site.path(f"state/{recipe}/relative/seed-1").glob("gen-*")):
                cluster.command(*waiting.pop(recipe).split(), training_jobs(cluster, recipe)[-1].number)
            else:
                finished = site.path(f"{RUNS[recipe]}/run.json").exists()
                assert not finished, f"the {recipe} run was not interrupted in time"
        time.sleep(0.05)


def test_a_campaign_on_slurm_with_a_cancelled_and_a_preempted_run(cluster, site, local, tmp_path):
    made = site.copy(tmp_path / "checkout")
    with made.submitted(cluster, "tables/final.md") as engine:
        commands = {"larger": "scontrol requeue", "exposure": "scancel"}
        interrupt(cluster, made, engine, commands)
        assert engine.wait(timeout=1500) == 0, made.printed[-6000:]
    final = "tables/final.md"
    assert made.path(final).read_bytes() == local.path(final).read_bytes()
    for run in RUNS.values():
        for name in ("final.safetensors", "history.jsonl", "development.json"):
            assert made.path(f"{run}/{name}").read_bytes() == local.path(f"{run}/{name}").read_bytes()
    for recipe in commands:
        assert "resuming after step" in made.path(f"logs/train_run/{recipe}/relative/seed-1.log").read_text()
    preempted, cancelled = (training_jobs(cluster, recipe) for recipe in commands)
    assert [job.state for job in preempted] == ["COMPLETED"]
    assert "Restarts=1" in cluster.command("scontrol", "show", "job", preempted[0].number)
    assert [(job.state, job.memory, job.limit) for job in cancelled] == [
        ("CANCELLED", "2000M", "30:00"),
        ("COMPLETED", "4000M", "1:00:00"),
    ]
    # 30 jobs, of which 3 + 3 are submitted by themselves, one of them twice; the others share four submissions.
    assert len(cluster.submissions()) == 11
    assert "Nothing to be done" in made.locally(final)


def test_a_failing_job_is_reported_by_its_log(cluster, local, tmp_path):
    broken = local.copy(tmp_path / "checkout")
    targets = broken.path("chunks/train-0/targets.npy")
    content = bytearray(targets.read_bytes())
    content[-1] ^= 1
    targets.write_bytes(content)
    run = f"{RUNS['screen']}/run.json"
    broken.path(run).unlink()
    with broken.submitted(cluster, run, "--retries=0") as engine:
        assert engine.wait(timeout=600) == 1, broken.printed[-6000:]
    assert "Error in rule train_run" in broken.printed
    told = broken.path("logs/train_run/screen/relative/seed-1.log").read_text().strip()
    assert "targets.npy has sha256" in told
    assert told in broken.printed
    kept = (broken.folder / ".snakemake/slurm_logs/rule_train_run").rglob("*.log")
    assert [path for path in kept if path.stat().st_size]
