// The order of test files: the long ones first, so that none of them runs alone at the end while a core idles.
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { longFiles } from './long-files.ts';

/** The others are ordered by their size, or by their last duration here, as usual with Vitest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const index = longFiles.indexOf(relative(this.ctx.config.root, moduleId));
      return index === -1 ? longFiles.length : index;
    };
    return usual.toSorted((one, other) => place(one) - place(other));
  }
}
