import { nothing } from "./there.js";
