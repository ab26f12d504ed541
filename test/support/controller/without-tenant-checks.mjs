// A hook of Node's module loader: modules whose URL ends in ?without-tenant-checks, and those that they import, are loaded once more, and
// the controller among them has no checks of tenants.
const mark = '?without-tenant-checks';

const replacements = {
  'reconciler/controller/tenancy/check-documents.ts': (original) =>
    `export * from '${original}'; export const tenantProblems = () => [];`,
  'reconciler/controller/tenancy/step-guard.ts': () => 'export const stepGuard = () => () => {};',
};

export async function resolve(specifier, context, nextResolve) {
  const found = await nextResolve(specifier, context);
  const marked = context.parentURL?.endsWith(mark) && found.url.startsWith('file:') && found.url.endsWith('.ts');
  return marked ? { ...found, url: `${found.url}${mark}` } : found;
}

export async function load(url, context, nextLoad) {
  if (!url.endsWith(mark)) return nextLoad(url, context);
  const original = url.slice(0, -mark.length);
  const [, replaced] = Object.entries(replacements).find(([path]) => original.endsWith(`/${path}`)) ?? [];
  return replaced === undefined
    ? nextLoad(url, context)
    : { format: 'module', source: replaced(original), shortCircuit: true };
}
