# What the campaign was: the effective config beside its results.
rule keep_config:
    output:
        PATHS.under("config.json"),
    log:
        PATHS.log("keep_config"),
    benchmark:
        PATHS.benchmark("keep_config")
    params:
        spec=specs.config_spec(CAMPAIGN),
        code=FINGERPRINTS["keep_config"],
    shell:
        "python -m captionlab keep_config --spec {params.spec:q} --code {params.code}"
        " --output {output} > {log} 2>&1"
