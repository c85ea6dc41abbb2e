# Published targets: one file of vectors a chunk, from a pinned repository; no teacher runs.
# A file's suffix tells its format, and all chunks have the same.
PUBLISHED = (
    "published"
    + Path(next(iter(CAMPAIGN.config["chunks"].values()))["targets_file"]).suffix
)


rule fetch_targets:
    output:
        vectors=temp(PATHS.chunk(PUBLISHED)),
        facts=PATHS.chunk("published.json"),
    log:
        PATHS.log("fetch_targets/{chunk}"),
    benchmark:
        PATHS.benchmark("fetch_targets/{chunk}")
    resources:
        **requested("fetch_targets"),
    params:
        spec=lambda wildcards: specs.published_spec(CAMPAIGN, wildcards.chunk),
        code=FINGERPRINTS["fetch_hub_file"],
    shell:
        "python -m captionlab fetch_hub_file --spec {params.spec:q} --code {params.code}"
        " --output {output.vectors} --output-json {output.facts} > {log} 2>&1"


rule build_targets:
    input:
        facts=PATHS.chunk("captions.json"),
        captions=ancient(PATHS.chunk("captions.parquet")),
        published=ancient(rules.fetch_targets.output.vectors),
        origin=rules.fetch_targets.output.facts,
    output:
        targets=PATHS.chunk("targets.npy"),
        manifest=PATHS.chunk("manifest.json"),
    log:
        PATHS.log("build_targets/{chunk}"),
    benchmark:
        PATHS.benchmark("build_targets/{chunk}")
    resources:
        **requested("build_targets"),
    params:
        chunk=subpath(output.manifest, parent=True),
        spec=lambda wildcards: specs.targets_spec(CAMPAIGN, wildcards.chunk),
        code=FINGERPRINTS["build_targets"],
    shell:
        "python -m captionlab build_targets --spec {params.spec:q} --code {params.code}"
        " --chunk {params.chunk} --published {input.published} --published-json {input.origin} > {log} 2>&1"
