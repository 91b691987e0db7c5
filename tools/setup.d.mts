type Packages = Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>
export function whyStale(wanted: Packages, installed: Packages | undefined): string | undefined
