export { Refusal } from "./bytes.js";
export { Client } from "./client.js";
export { BrowserStorage, MemoryStorage } from "./storage.js";
