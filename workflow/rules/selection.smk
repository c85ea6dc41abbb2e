# Selection reads the runs' development numbers and nothing else.
rule select_run:
    input:
        lambda wildcards: [
            PATHS.run("development.json", run)
            for run in CAMPAIGN.stage_runs(wildcards.stage)
        ],
    output:
        PATHS.under("selection/{stage}.json"),
    log:
        PATHS.log("select_run/{stage}"),
    benchmark:
        PATHS.benchmark("select_run/{stage}")
    resources:
        **requested("select_run"),
    params:
        spec=lambda wildcards: specs.selection_spec(CAMPAIGN, wildcards.stage),
        code=FINGERPRINTS["select_run"],
    shell:
        "python -m captionlab select_run --spec {params.spec:q} --code {params.code}"
        " --development {input} --output {output} > {log} 2>&1"
