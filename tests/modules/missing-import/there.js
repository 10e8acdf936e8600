export const a = 1;

import { b } from './gone.js';
