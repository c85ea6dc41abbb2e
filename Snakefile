# A table of contents: what the campaign is, one chapter a stage, and the main job.
# snakemake --cores 8 results/tables/final.md


# A file given with --configfile is a whole campaign. Asking for --replace-workflow-config is not enough:
# Snakemake does not pass that flag on to the jobs of a cluster.
if not workflow.overwrite_configfiles:

    configfile: "config.yaml"


report: "workflow/report/campaign.rst"


include: "workflow/rules/campaign.smk"
include: "workflow/rules/chunks.smk"
include: "workflow/rules/targets.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/selection.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/serving.smk"


if "release" in CAMPAIGN.config:

    include: "workflow/rules/release.smk"


if "speed" in CAMPAIGN.config:

    include: "workflow/rules/speed.smk"


include: "workflow/rules/tables.smk"
include: "workflow/rules/provenance.smk"


rule all:
    default_target: True
    input:
        PATHS.under("tables/final.md"),


rule tables:
    input:
        TABLES,
