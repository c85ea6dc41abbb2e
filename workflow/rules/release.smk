# A published model at its pinned revision, read as our own models are: nothing is trained.
READINGS = release_specs.release_readings(CAMPAIGN)


rule evaluate_release:
    input:
        tokenizer=PATHS.tokenizer("manifest.json") if "serving" in READINGS else [],
        suites=[
            PATHS.suite("json", suite)
            for suite in (CAMPAIGN.development_suite, *CAMPAIGN.test_suites)
            if "suites" in READINGS
        ],
        manifests=[
            PATHS.chunk("manifest.json", chunk)
            for chunk in (DEVELOPMENT_CHUNK, TEST_CHUNK)
            if "geometry" in READINGS
        ],
    output:
        [
            PATHS.under(file)
            for name in READINGS
            for file in release_specs.RELEASE_FILES[name]
        ],
    log:
        PATHS.log("evaluate_release"),
    benchmark:
        PATHS.benchmark("evaluate_release")
    threads: CAMPAIGN.config["compute"]["threads"]
    resources:
        **requested("evaluate_release", gpu=True),
    params:
        folder=PATHS.under("release"),
        tokenizer=PATHS.under("tokenizer"),
        suites=PATHS.under("suites"),
        chunks=PATHS.under("chunks"),
        spec=release_specs.release_spec(CAMPAIGN),
        code=FINGERPRINTS["evaluate_release"],
        environment=ENVIRONMENT,
    shell:
        "python -m captionlab evaluate_release --spec {params.spec:q} --code {params.code}"
        " --tokenizer {params.tokenizer} --suites {params.suites} --chunks {params.chunks}"
        " --output {params.folder} > {log} 2>&1"


rule render_release:
    input:
        [PATHS.under(f"release/{name}.json") for name in READINGS],
    output:
        [PATHS.under(file) for file in release_specs.RELEASE_TABLES],
    log:
        PATHS.log("render_release"),
    benchmark:
        PATHS.benchmark("render_release")
    resources:
        **requested("render_release"),
    params:
        root=PATHS.root,
        spec=release_specs.release_table_spec(CAMPAIGN),
        code=FINGERPRINTS["render_release"],
    shell:
        "python -m captionlab render_release --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {output[0]} > {log} 2>&1"
