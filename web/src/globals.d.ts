/** The version of the package that the page was built from; see vite.config.ts. */
declare const PAGE_VERSION: string

declare module '*.css'
