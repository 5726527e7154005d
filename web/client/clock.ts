/** Time, such that tests can have their own. */

export const clock = {
  /** Seconds, of which only differences mean anything. */
  now: (): number => performance.now() / 1000,

  /** Rejects with the signal's reason once that says so. */
  sleep(seconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const stop = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", stop);
        resolve();
      }, 1000 * seconds);
      signal?.addEventListener("abort", stop, { once: true });
    });
  },
};
