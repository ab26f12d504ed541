// Opens the source of one entry of gantry.yaml. Nothing is fetched; settings that cannot work are refused here.
import { type Source, type SourceKind, sourceErrors } from './source.ts';
import type { SourceContext } from './source-context.ts';
import type { SourceEntry } from './source-schema.ts';
import { openArchiveSource } from './archive/archive-source.ts';
import { openBucketSource } from './bucket/bucket-source.ts';
import { openDirectorySource } from './directory-source.ts';
import { GitSource } from './git/git-source.ts';
import { OciSource } from './oci/oci-source.ts';

const kinds = ['git', 'directory', 'archive', 'oci', 'bucket'] as const satisfies readonly SourceKind[];

export function openSource(entry: SourceEntry, context: SourceContext): Source {
  const given = kinds.filter((kind) => entry[kind] !== undefined);
  if (given.length !== 1) {
    const said = given.length === 0 ? 'none is given' : `${given.join(' and ')} are given`;
    throw sourceErrors.refused(`source ${entry.name} needs exactly one of ${kinds.join(', ')}: ${said}`);
  }
  const { name, git, directory, archive, oci, bucket } = entry;
  if (git !== undefined) return new GitSource(name, git, context);
  if (directory !== undefined) return openDirectorySource(name, directory, context);
  if (archive !== undefined) return openArchiveSource(name, archive, context);
  if (oci !== undefined) return new OciSource(name, oci, context);
  if (bucket !== undefined) return openBucketSource(name, bucket, context);
  throw sourceErrors.refused(`source ${name} has no kind`);
}
