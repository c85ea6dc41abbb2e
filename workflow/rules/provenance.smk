# What the campaign was, the pinned list of all it made, and the walk back from every table cell.
rule keep_config:
    output:
        PATHS.under("config.json"),
    log:
        PATHS.log("keep_config"),
    benchmark:
        PATHS.benchmark("keep_config")
    resources:
        **requested("keep_config"),
    params:
        spec=specs.config_spec(CAMPAIGN),
        code=FINGERPRINTS["keep_config"],
    shell:
        "python -m captionlab keep_config --spec {params.spec:q} --code {params.code}"
        " --output {output} > {log} 2>&1"


rule list_artifacts:
    input:
        rules.keep_config.output,
    output:
        PATHS.under("provenance/expected.json"),
    log:
        PATHS.log("list_artifacts"),
    benchmark:
        PATHS.benchmark("list_artifacts")
    resources:
        **requested("list_artifacts"),
    params:
        code=FINGERPRINTS["list_artifacts"],
    shell:
        "python -m captionlab list_artifacts --code {params.code}"
        " --config {input} --output {output} > {log} 2>&1"


rule take_census:
    input:
        release=made_of_release,
        tables=TABLES,
        mteb=rules.write_mteb.output,
        expected=rules.list_artifacts.output,
    output:
        PATHS.under("provenance/census.json"),
    log:
        PATHS.log("take_census"),
    benchmark:
        PATHS.benchmark("take_census")
    resources:
        **requested("take_census"),
    params:
        root=PATHS.root,
        cache=CACHE / "digests.json",
        spec=table_specs.census_spec(CAMPAIGN),
        code=FINGERPRINTS["take_census"],
    shell:
        "python -m captionlab take_census --spec {params.spec:q} --code {params.code}"
        " --expected {input.expected} --root {params.root} --digest-cache {params.cache}"
        " --output {output} > {log} 2>&1"


rule audit_campaign:
    input:
        rules.take_census.output,
    output:
        PATHS.under("provenance/audit.md"),
    log:
        PATHS.log("audit_campaign"),
    benchmark:
        PATHS.benchmark("audit_campaign")
    resources:
        **requested("audit_campaign"),
    params:
        root=PATHS.root,
        # Asked for again after any file was touched, the audit must run again.
        tree=lambda wildcards: tree_signature(PATHS.root),
        spec=table_specs.audit_spec(CAMPAIGN),
        code=FINGERPRINTS["audit_campaign"],
    shell:
        "python -m captionlab audit_campaign --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {output} > {log} 2>&1"


rule recompute_sample:
    input:
        results,
    output:
        PATHS.under("provenance/recomputed.json"),
    log:
        PATHS.log("recompute_sample"),
    benchmark:
        PATHS.benchmark("recompute_sample")
    resources:
        **requested("recompute_sample"),
    params:
        root=PATHS.root,
        spec=specs.recomputation_spec(CAMPAIGN),
        code=FINGERPRINTS["recompute_sample"],
    shell:
        "python -m captionlab recompute_sample --spec {params.spec:q} --code {params.code}"
        " --root {params.root} --output {output} > {log} 2>&1"


rule write_crate:
    input:
        rules.take_census.output,
    output:
        PATHS.under("ro-crate-metadata.json"),
    log:
        PATHS.log("write_crate"),
    benchmark:
        PATHS.benchmark("write_crate")
    resources:
        **requested("write_crate"),
    params:
        root=PATHS.root,
        code=FINGERPRINTS["write_crate"],
    shell:
        "python -m captionlab write_crate --code {params.code} --root {params.root}"
        " > {log} 2>&1"
