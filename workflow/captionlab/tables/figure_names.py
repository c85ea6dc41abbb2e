"""Names of the figures, for rules that declare them without drawing anything."""

FIGURES = (
    "training-curves",
    "development-curves",
    "development-against-test",
    "suite-scores",
    "spectrum",
    "participation",
    "lookup-distance",
    "consensus",
    "stages",
)
FORMS = ("svg", "png", "csv")
