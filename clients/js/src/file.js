// A folder in which a program of Node remembers: one file per key.

import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rename, unlink } from "node:fs/promises";
import { join } from "node:path";

export class FileStorage {
  #last = Promise.resolve();

  /** @param {string} folder made if it is not there */
  constructor(folder) {
    this.folder = folder;
  }

  /**
   * One update at a time in this process.  A file is created by a link, which fails if another process was first: two
   * processes cannot both make the report of a period.
   * @param {string} key
   * @param {(old: string | undefined) => string | undefined} change
   */
  update(key, change) {
    const done = this.#last.then(() => this.#update(key, change));
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #update(key, change) {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const file = join(this.folder, createHash("sha256").update(key).digest("hex"));
    for (;;) {
      const old = await readFile(file, "utf8").catch(unless("ENOENT"));
      const value = change(old);
      if (value === old || value === undefined) return value;
      const written = `${file}.${randomUUID()}`;
      try {
        await synchronized(written, "wx", (handle) => handle.writeFile(value));
        if (old !== undefined) await rename(written, file);
        else if ((await link(written, file).catch(unless("EEXIST", true))) === true) continue; // change what is there
        await synchronized(this.folder, "r", () => undefined);
        return value;
      } finally {
        await unlink(written).catch(unless("ENOENT"));
      }
    }
  }
}

const unless = (code, value) => (error) => {
  if (error.code !== code) throw error;
  return value;
};

/** Opens a file, uses it, and closes it once it is on the disk. */
async function synchronized(file, flags, use) {
  const handle = await open(file, flags, 0o600);
  try {
    await use(handle);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
