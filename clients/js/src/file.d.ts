import type { Storage } from "./index.js";

/** A folder, one file per key; made if it is not there. */
export declare class FileStorage implements Storage {
  constructor(folder: string);
  update: Storage["update"];
}
