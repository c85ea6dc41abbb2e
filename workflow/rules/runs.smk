# Every run of the campaign, screen and larger alike: one rule, keyed by recipe, option and seed.
rule train_run:
    input:
        tokenizer=PATHS.tokenizer("manifest.json"),
        manifests=lambda wildcards: run_chunks(wildcards, "manifest.json"),
        development=PATHS.suite("json", CAMPAIGN.development_suite),
        tokens=ancient(lambda wildcards: run_chunks(wildcards, "tokens.npy")),
        offsets=ancient(lambda wildcards: run_chunks(wildcards, "offsets.npy")),
        targets=ancient(lambda wildcards: run_chunks(wildcards, "targets.npy")),
        pairs=ancient(PATHS.suite("tsv", CAMPAIGN.development_suite)),
    output:
        run=PATHS.run("run.json"),
        development=PATHS.run("development.json"),
        final=PATHS.run("final.safetensors"),
        best=PATHS.run("best.safetensors"),
        midpoint=PATHS.run("midpoint.safetensors"),
        history=report(
            PATHS.run("history.jsonl"),
            caption="../report/history.rst",
            category="Runs",
            subcategory="{recipe}",
            labels={"option": "{option}", "seed": "{seed}"},
        ),
    log:
        PATHS.log("train_run/{recipe}/{option}/seed-{seed}"),
    benchmark:
        PATHS.benchmark("train_run/{recipe}/{option}/seed-{seed}")
    threads: CAMPAIGN.config["compute"]["threads"]
    resources:
        **requested("train_run", gpu=True),
    params:
        folder=subpath(output.run, parent=True),
        state=PATHS.state(),
        tokenizer=subpath(input.tokenizer, parent=True),
        chunks=lambda wildcards: run_chunks(wildcards, "")[:-1],
        development=PATHS.chunk("", DEVELOPMENT_CHUNK),
        spec=lambda wildcards: specs.train_spec(CAMPAIGN, run_of(wildcards)),
        code=FINGERPRINTS["train_run"],
        environment=ENVIRONMENT,
    shell:
        "python -m captionlab train_run --spec {params.spec:q} --code {params.code}"
        " --tokenizer {params.tokenizer} --chunks {params.chunks}"
        " --development-chunk {params.development} --development-suite {input.pairs}"
        " --output {params.folder} --state {params.state} > {log} 2>&1"
