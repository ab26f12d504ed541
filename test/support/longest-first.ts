// The order of test files: the long ones first, so that none of them runs alone at the end while a core idles; those that share
// processes last, without others between them, which would end such a process.
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { longFiles } from './long-files.ts';

/** Within a group the order is by size, or by the last duration here, as usual with Vitest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(files);
    const place = ({ moduleId, project }: TestSpecification): number => {
      if (!project.config.isolate) return longFiles.length + 1;
      const index = longFiles.indexOf(relative(this.ctx.config.root, moduleId));
      return index === -1 ? longFiles.length : index;
    };
    return usual.toSorted((one, other) => place(one) - place(other));
  }
}
