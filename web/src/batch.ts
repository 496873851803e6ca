/** Collects tokens per key and hands them on once per animation frame. */

export interface FrameScheduler {
  request(callback: () => void): number;
  cancel(handle: number): void;
}

/** Animation frames stop in a hidden tab; a timer then keeps the buffer from growing. */
const frames: FrameScheduler = {
  request(callback) {
    if (typeof document !== "undefined" && !document.hidden) return requestAnimationFrame(callback);
    return -Number(setTimeout(callback, 200));
  },
  cancel(handle) {
    if (handle < 0) clearTimeout(-handle);
    else cancelAnimationFrame(handle);
  },
};

export class TokenBatcher {
  #buffer = new Map<string, string>();
  #handle: number | null = null;
  readonly #flushed: (tokens: ReadonlyMap<string, string>) => void;
  readonly #scheduler: FrameScheduler;

  constructor(flushed: (tokens: ReadonlyMap<string, string>) => void, scheduler: FrameScheduler = frames) {
    this.#flushed = flushed;
    this.#scheduler = scheduler;
  }

  add(key: string, token: string): void {
    this.#buffer.set(key, (this.#buffer.get(key) ?? "") + token);
    this.#handle ??= this.#scheduler.request(() => {
      this.#handle = null;
      this.#deliver();
    });
  }

  /** Hands on what is waiting, now: before an event that says "that was all". */
  flush(): void {
    if (this.#handle !== null) this.#scheduler.cancel(this.#handle);
    this.#handle = null;
    this.#deliver();
  }

  /** Forgets what is waiting for a key: it begins again, or was aborted. */
  drop(key: string): void {
    this.#buffer.delete(key);
  }

  #deliver(): void {
    if (this.#buffer.size === 0) return;
    const tokens = this.#buffer;
    this.#buffer = new Map();
    this.#flushed(tokens);
  }
}
