// The entry point of `npm run docs:site`: the folder is the argument, else dist/docs.
import { writeSite } from './docs-site.ts';

writeSite('.', process.argv[2] ?? 'dist/docs');
