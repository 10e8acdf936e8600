import data from "./data.json" with { type: "yaml" };
