// The order of test files: the long ones first, so that none of them runs alone at the end while a core idles; then those of whole
// programs, which take longer than the others.
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { longFiles } from './long-files.ts';

/** Within a group the order is by size, or by the last duration here, as usual with Vitest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const path = relative(this.ctx.config.root, moduleId);
      const index = longFiles.indexOf(path);
      if (index !== -1) return index;
      return path.startsWith('test/e2e/') ? longFiles.length : longFiles.length + 1;
    };
    return usual.toSorted((one, other) => place(one) - place(other));
  }
}
