// The system image for the image of a service. Pure.
import type { JsonObject } from '../../core/documents/document.ts';
import type { ComposeFile } from './file.ts';

/** Systems, each with the part of a tag that names a release of it. */
const systems: Readonly<Record<string, RegExp>> = {
  debian: /^(\d+|[a-z]+)/,
  ubuntu: /^(\d+\.\d+|[a-z]+)/,
  alpine: /^(\d+\.\d+|edge)/,
  fedora: /^(\d+)/,
  rockylinux: /^(\d+)/,
  almalinux: /^(\d+)/,
  archlinux: /^(latest|base)/,
};
const usual = 'debian/12';
const official = /^(?:docker\.io\/)?(?:library\/)?([a-z0-9]+)(?::([^@]+))?(?:@.*)?$/;

export function sourceOf(file: ComposeFile, service: string, image: string): JsonObject {
  const [, name = '', tag = 'latest'] = official.exec(image) ?? [];
  const release = tag === 'latest' && name !== 'archlinux' ? undefined : systems[name]?.exec(tag)?.[1];
  const isSystem = Object.hasOwn(systems, name);
  const path = ['services', service, ...(image === '' ? [] : ['image'])];
  const alias = release === undefined ? usual : name === 'archlinux' ? name : `${name}/${release}`;
  if (release === undefined)
    file.note(
      path,
      isSystem
        ? `services.${service}: the image ${image} names no release of ${name}: the container gets ${alias}; write the release that it needs`
        : `services.${service}: ${image === '' ? 'its image is built' : `the image ${image} holds one program`}, a container holds a system: it gets ${alias}, install the program in it (exec:, or cloud-init)`,
    );
  return {
    type: 'image',
    mode: 'pull',
    server: 'https://images.linuxcontainers.org',
    protocol: 'simplestreams',
    alias,
  };
}
