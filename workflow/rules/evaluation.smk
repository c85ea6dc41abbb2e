# All readings of a run's final weights in one job, the reference rows, and the resampling of both.
rule evaluate_run:
    input:
        run=PATHS.run("run.json"),
        tokenizer=PATHS.tokenizer("manifest.json"),
        suites=lambda wildcards: [
            PATHS.suite("json", suite)
            for suite in CAMPAIGN.evaluated_suites(run_of(wildcards).stage)
        ],
        manifests=[
            PATHS.chunk("manifest.json", chunk)
            for chunk in (DEVELOPMENT_CHUNK, TEST_CHUNK)
        ],
        weights=ancient(PATHS.run("final.safetensors")),
    output:
        suites=PATHS.evaluation("suites.json"),
        cosines=PATHS.evaluation("cosines.safetensors"),
        geometry=PATHS.evaluation("geometry.json"),
        lookup=PATHS.evaluation("lookup.json"),
        queries=PATHS.evaluation("lookup-queries.jsonl"),
    log:
        PATHS.log("evaluate_run/{recipe}/{option}/seed-{seed}"),
    benchmark:
        PATHS.benchmark("evaluate_run/{recipe}/{option}/seed-{seed}")
    threads: CAMPAIGN.config["compute"]["threads"]
    resources:
        **requested("evaluate_run", gpu=True),
    params:
        folder=subpath(output.suites, parent=True),
        tokenizer=subpath(input.tokenizer, parent=True),
        suites=PATHS.under("suites"),
        chunks=PATHS.under("chunks"),
        spec=lambda wildcards: specs.evaluation_spec(CAMPAIGN, run_of(wildcards)),
        code=FINGERPRINTS["evaluate_run"],
        environment=ENVIRONMENT,
    shell:
        "python -m captionlab evaluate_run --spec {params.spec:q} --code {params.code}"
        " --weights {input.weights} --run-json {input.run} --tokenizer {params.tokenizer}"
        " --suites {params.suites} --chunks {params.chunks}"
        " --output {params.folder} > {log} 2>&1"


rule evaluate_reference:
    input:
        tokenizer=PATHS.tokenizer("manifest.json"),
        suites=[PATHS.suite("json", suite) for suite in CAMPAIGN.test_suites],
    output:
        suites=PATHS.reference("suites.json"),
        cosines=PATHS.reference("cosines.safetensors"),
    log:
        PATHS.log("evaluate_reference/{reference}"),
    benchmark:
        PATHS.benchmark("evaluate_reference/{reference}")
    threads: CAMPAIGN.config["compute"]["threads"]
    resources:
        **requested("evaluate_reference"),
    params:
        folder=subpath(output.suites, parent=True),
        tokenizer=subpath(input.tokenizer, parent=True),
        suites=PATHS.under("suites"),
        spec=lambda wildcards: specs.reference_spec(CAMPAIGN, wildcards.reference),
        code=FINGERPRINTS["evaluate_reference"],
        environment=ENVIRONMENT,
    shell:
        "python -m captionlab evaluate_reference --spec {params.spec:q} --code {params.code}"
        " --tokenizer {params.tokenizer} --suites {params.suites}"
        " --output {params.folder} > {log} 2>&1"


rule resample_suites:
    input:
        runs=[
            PATHS.evaluation(name, run)
            for run in CAMPAIGN.stage_runs("larger")
            for name in ("suites.json", "cosines.safetensors")
        ],
        references=[
            PATHS.reference(name, row.name)
            for row in CAMPAIGN.references
            for name in ("suites.json", "cosines.safetensors")
        ],
        suites=[PATHS.suite("json", suite) for suite in CAMPAIGN.test_suites],
    output:
        PATHS.under("statistics/suites.json"),
    log:
        PATHS.log("resample_suites"),
    benchmark:
        PATHS.benchmark("resample_suites")
    resources:
        **requested("resample_suites"),
    params:
        evaluations=PATHS.under("evaluation"),
        suites=PATHS.under("suites"),
        spec=specs.resampling_spec(CAMPAIGN),
        code=FINGERPRINTS["resample_suites"],
        environment=ENVIRONMENT,
    shell:
        "python -m captionlab resample_suites --spec {params.spec:q} --code {params.code}"
        " --evaluations {params.evaluations} --suites {params.suites}"
        " --output {output} > {log} 2>&1"


rule write_mteb:
    input:
        runs=[
            PATHS.evaluation("suites.json", run)
            for run in CAMPAIGN.stage_runs("larger")
        ],
        references=[
            PATHS.reference("suites.json", row.name) for row in CAMPAIGN.references
        ],
        suites=[PATHS.suite("json", suite) for suite in CAMPAIGN.test_suites],
    output:
        PATHS.under("mteb/index.json"),
    log:
        PATHS.log("write_mteb"),
    benchmark:
        PATHS.benchmark("write_mteb")
    resources:
        **requested("write_mteb"),
    params:
        folder=subpath(output[0], parent=True),
        evaluations=PATHS.under("evaluation"),
        suites=PATHS.under("suites"),
        spec=specs.mteb_spec(CAMPAIGN),
        code=FINGERPRINTS["write_mteb"],
    shell:
        "python -m captionlab write_mteb --spec {params.spec:q} --code {params.code}"
        " --evaluations {params.evaluations} --suites {params.suites}"
        " --output {params.folder} > {log} 2>&1"
