// Checks container metadata and template names: every problem with its path. Pure.
import { architectureName } from '../../../api/image/architectures.ts';
import type { ContainerMetadata, ContainerMetadataPut } from '../../../api/container/container.ts';
import { errors } from '../../../api/errors.ts';
import type { Problem } from '../../../api/problem.ts';

export const templateTriggers = ['create', 'copy', 'start'] as const;
export const maxTemplates = 256;

/** Why no template can have that name; undefined if one can. */
export function templateNameRule(name: string): string | undefined {
  if (name === '') return 'must not be empty';
  if (name.includes('/') || name.includes('\0')) return 'must have no slash and no NUL';
  if (name === '.' || name === '..') return 'must be the name of a file';
  return Buffer.byteLength(name) > 255 ? 'must have at most 255 bytes' : undefined;
}

/** Throws badRequest with all problems. Entries of `present` may stay: images bring their own triggers. */
export function checkMetadata(sent: ContainerMetadataPut, present: ContainerMetadata): ContainerMetadata {
  const templates = Object.entries(sent.templates ?? {});
  const problems: Problem[] = [];
  if (architectureName(sent.architecture) === undefined && sent.architecture !== present.architecture) {
    problems.push({
      path: 'architecture',
      message: `${JSON.stringify(sent.architecture)} is not a known architecture`,
    });
  }
  if (sent.creation_date <= 0) problems.push({ path: 'creation_date', message: 'must be a time after 1970' });
  if ((sent.expiry_date ?? 0) < 0) problems.push({ path: 'expiry_date', message: 'must be a time, or 0 for none' });
  if (templates.length > maxTemplates) {
    problems.push({ path: 'templates', message: `has more than ${maxTemplates} entries` });
  }
  for (const [target, template] of templates) {
    const path = `templates.${target}`;
    const targetProblem = targetRule(target);
    if (targetProblem !== undefined) problems.push({ path, message: targetProblem });
    const nameProblem = templateNameRule(template.template);
    if (nameProblem !== undefined) problems.push({ path: `${path}.template`, message: nameProblem });
    const known = new Set<string>([...templateTriggers, ...(present.templates[target]?.when ?? [])]);
    for (const [index, trigger] of (template.when ?? []).entries()) {
      if (known.has(trigger)) continue;
      const message = `must be one of ${templateTriggers.join(', ')}, is ${JSON.stringify(trigger)}`;
      problems.push({ path: `${path}.when.${index}`, message });
    }
  }
  if (problems.length > 0) throw errors.invalid('metadata', problems);
  return {
    architecture: sent.architecture,
    creation_date: sent.creation_date,
    expiry_date: sent.expiry_date ?? 0,
    properties: { ...sent.properties },
    templates: Object.fromEntries(
      templates.map(([target, template]) => [
        target,
        {
          when: [...(template.when ?? [])],
          create_only: template.create_only ?? false,
          template: template.template,
          properties: { ...template.properties },
        },
      ]),
    ),
  };
}

function targetRule(target: string): string | undefined {
  if (!target.startsWith('/') || target.includes('\0')) return 'must be for an absolute path';
  if (target.split('/').includes('..')) return 'must be for a path without ..';
  return Buffer.byteLength(target) > 4000 ? 'must be for a shorter path' : undefined;
}
