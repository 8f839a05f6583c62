// Where a client remembers: one method, `update(key, change)`, which replaces the value by `change(value)` in one step
// and returns what is stored then, once it is durable.  Nothing else may come between reading and writing, in this tab
// or another: that is what makes two tabs send one report.

/** For tests, and for programs that run once. */
export class MemoryStorage {
  #values = new Map();

  /** @param {string} key @param {(old: string | undefined) => string | undefined} change */
  async update(key, change) {
    const value = change(this.#values.get(key));
    if (value !== undefined) this.#values.set(key, value);
    return value;
  }
}

/** IndexedDB: shared by all tabs and workers of an origin; a transaction that writes excludes the others. */
export class BrowserStorage {
  #opened;

  /** @param {string} [name] of the database */
  constructor(name = "shuffledp") {
    this.name = name;
  }

  #open() {
    // Browsers may clear what they were not asked to keep, and some ask the user, whose answer is not waited for.
    globalThis.navigator?.storage?.persist?.().catch(() => undefined);
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(this.name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore("values");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    }).catch((error) => {
      this.#opened = undefined; // another attempt may go well
      throw error;
    });
  }

  /** @param {string} key @param {(old: string | undefined) => string | undefined} change */
  async update(key, change) {
    const database = await (this.#opened ??= this.#open());
    return new Promise((resolve, reject) => {
      const transaction = database.transaction("values", "readwrite", { durability: "strict" });
      const values = transaction.objectStore("values");
      let value;
      values.get(key).onsuccess = (event) => {
        try {
          value = change(event.target.result);
          if (value !== undefined && value !== event.target.result) values.put(value, key);
        } catch (error) {
          reject(error);
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(value);
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
  }
}
