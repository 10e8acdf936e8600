import data from "./broken.json" with { type: "json" };
