/**
 * Takes away what a protocol does not need and a module from a shared link must not have: requests, storage, and workers
 * that would have both. Called before any such module is imported.
 */
const FORBIDDEN: readonly string[] = [
  'BroadcastChannel',
  'EventSource',
  'FileSystemSyncAccessHandle',
  'Notification',
  'RTCPeerConnection',
  'SharedWorker',
  'WebSocket',
  'WebSocketStream',
  'WebTransport',
  'Worker',
  'XMLHttpRequest',
  'caches',
  'cookieStore',
  'fetch',
  'importScripts',
  'indexedDB',
  'navigator',
]

/** A property may be on the global object or on one of its prototypes: none of them keeps it. */
export function confine(global: object, names: readonly string[] = FORBIDDEN): void {
  for (
    let holder: object | null = global;
    holder !== null;
    holder = Object.getPrototypeOf(holder) as object | null
  ) {
    for (const name of names) {
      if (Object.hasOwn(holder, name))
        // A browser may refuse it for some property: then the others are still gone.
        Reflect.defineProperty(holder, name, { value: undefined, writable: false, configurable: false })
    }
  }
}
