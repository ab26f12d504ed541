// Paths to values inside an object: attribute names, map keys and list positions.

export type PathStep = { readonly attribute: string } | { readonly key: string } | { readonly index: number };
export type Path = readonly PathStep[];

/** `at('devices', { key: 'eth0' })`: plain texts are attribute names. */
export const at = (...steps: readonly (string | PathStep)[]): Path =>
  steps.map((step) => (typeof step === 'string' ? { attribute: step } : step));

/** As Terraform writes it: `devices["eth0"].type`. */
export function renderPath(path: Path): string {
  return path
    .map((step, position) =>
      'attribute' in step
        ? `${position === 0 ? '' : '.'}${step.attribute}`
        : `[${'key' in step ? JSON.stringify(step.key) : step.index}]`,
    )
    .join('');
}
