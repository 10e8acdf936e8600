// CSV texts as tensors and tables. Quotes as in RFC 4180; an error names the line.

import { describe, ops, options } from "ext:mlrun_tensor/00_handle.js";
import { tensor } from "ext:mlrun_tensor/00_make.js";

/** Calls `add(fields, line)` for each record; `line` counts from 1. */
function records(op, text, separator, add) {
  let at = 0, line = 1;
  const n = text.length;
  while (at < n) {
    const first = line, fields = [];
    for (;;) {
      const [field, next] = text[at] === '"' ? quoted(op, text, at, line) : plain(text, at, separator);
      fields.push(field);
      for (let i = at; i < next; i++) if (text[i] === "\n") line++;
      at = next;
      if (text[at] !== separator) break;
      at++;
    }
    if (at < n && text[at] === "\r" && text[at + 1] === "\n") at++;
    if (at < n && text[at] !== "\n") throw new SyntaxError(`${op}: line ${line}: expected ${JSON.stringify(separator)} after a quoted field, got ${JSON.stringify(text[at])}`);
    at++;
    line++;
    if (fields.length > 1 || fields[0] !== "") add(fields, first);
  }
}

function plain(text, at, separator) {
  let end = at;
  while (end < text.length && text[end] !== separator && text[end] !== "\n") end++;
  const stop = text[end] !== separator && text[end - 1] === "\r" && end > at ? end - 1 : end;
  return [text.slice(at, stop), stop === end ? end : stop];
}

function quoted(op, text, at, line) {
  let field = "", from = at + 1;
  for (;;) {
    const end = text.indexOf('"', from);
    if (end < 0) throw new SyntaxError(`${op}: line ${line}: a quote is not closed`);
    field += text.slice(from, end);
    if (text[end + 1] !== '"') return [field, end + 1];
    field += '"';
    from = end + 2;
  }
}

/**
 * Rows of a CSV text. With `header` (true) the first row names the columns. Gives
 * `{ columns, rows, lines }`: texts in the rows, and the line that each row starts at.
 */
export function parseCsv(text, given) {
  return table("data.parseCsv", text, given);
}

function table(op, text, given) {
  const { separator = ",", header = true } = options(op, given, ["separator", "header"]);
  if (typeof text !== "string") throw new TypeError(`${op}: expected a text, got ${describe(text)}`);
  if (typeof separator !== "string" || separator.length !== 1 || /["\r\n]/.test(separator)) {
    throw new TypeError(`${op}: separator must be one character, no quote or line end, got ${JSON.stringify(separator)}`);
  }
  let columns = null, width = -1;
  const rows = [], lines = [];
  records(op, text.charCodeAt(0) === 0xfeff ? text.slice(1) : text, separator, (fields, line) => {
    if (width < 0) width = fields.length;
    if (fields.length !== width) {
      throw new RangeError(`${op}: line ${line} has ${fields.length} ${fields.length === 1 ? "field" : "fields"}, expected ${width}`);
    }
    if (header && columns === null) {
      columns = fields;
      return;
    }
    rows.push(fields);
    lines.push(line);
  });
  return { columns, rows, lines };
}

/**
 * A CSV text of numbers as a tensor `[rows, columns]`. `columns` picks columns by name or by
 * number from 0; a field that is no number names its line and column.
 */
export function csvToTensor(text, given) {
  const op = "data.csvToTensor";
  const { columns: wanted, dtype = "float32", ...rest } = options(op, given, ["separator", "header", "columns", "dtype"]);
  const { columns, rows, lines } = table(op, text, rest);
  const width = rows[0]?.length ?? columns?.length ?? 0;
  const picked = (wanted ?? Array.from({ length: width }, (_, i) => i)).map((c) => {
    const at = typeof c === "number" ? c : columns?.indexOf(c) ?? -1;
    if (!Number.isInteger(at) || at < 0 || at >= width) {
      throw new RangeError(`${op}: no column ${typeof c === "string" ? `"${c}"` : c}, expected ${columns ? columns.join(", ") : `0 to ${width - 1}`}`);
    }
    return at;
  });
  const data = new Float64Array(rows.length * picked.length);
  let k = 0;
  rows.forEach((row, i) => {
    for (const c of picked) {
      const field = row[c].trim(), v = Number(field);
      if (field === "" || (Number.isNaN(v) && !/^nan$/i.test(field))) {
        throw new RangeError(`${op}: line ${lines[i]}, column ${columns ? `"${columns[c]}"` : c}: ${JSON.stringify(row[c])} is no number`);
      }
      data[k++] = v;
    }
  });
  return tensor(data).to(dtype).reshape([rows.length, picked.length]);
}

/** A CSV file of numbers as a tensor `[rows, columns]`; options as for `csvToTensor`. */
export function readCsv(file, given) {
  const path = typeof file === "string" ? file : file?.protocol === "file:" ? decodeURIComponent(file.pathname) : null;
  if (path === null) throw new TypeError(`data.readCsv: file must be a path or a file: URL, got ${describe(file)}`);
  const text = ops.op_tensor_read_text("data.readCsv", path);
  try {
    return csvToTensor(text, given);
  } catch (e) {
    if (e instanceof Error) e.message = e.message.replace(/^data\.\w+:/, `data.readCsv: ${path}:`);
    throw e;
  }
}
