# Tables are rendered from JSON alone; none of these jobs imports torch.
TABLES = [PATHS.under("tables/final.md")]


rule render_final:
    input:
        development=[PATHS.run("development.json", run) for run in CAMPAIGN.runs],
        runs=[PATHS.run("run.json", run) for run in CAMPAIGN.runs],
        evaluations=[
            PATHS.evaluation(name, run)
            for run in CAMPAIGN.runs
            for name in ("suites.json", "geometry.json", "lookup.json")
        ],
        references=[
            PATHS.reference("suites.json", row.name) for row in CAMPAIGN.references
        ],
        suites=[
            PATHS.suite("json", suite)
            for suite in (CAMPAIGN.development_suite, *CAMPAIGN.test_suites)
        ],
        manifests=[PATHS.chunk("manifest.json", chunk) for chunk in CAMPAIGN.chunks],
        selections=[
            PATHS.under(f"selection/{stage}.json") for stage in ("screen", "larger")
        ],
        statistics=rules.resample_suites.output,
        config=PATHS.under("config.json"),
    output:
        PATHS.under("tables/final.md"),
        PATHS.under("tables/benchmarks.csv"),
    log:
        PATHS.log("render_final"),
    benchmark:
        PATHS.benchmark("render_final")
    params:
        root=PATHS.root,
        spec=specs.table_spec(CAMPAIGN),
        code=FINGERPRINTS["render_final"],
    shell:
        "python -m captionlab render_final --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {output[0]} > {log} 2>&1"
