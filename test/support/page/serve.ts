// Shows the page on a made-up world, for those who work on it: npm run build, then npm run page -- [small|large|hostile].
import { join } from 'node:path';
import { PageServer } from './server.ts';
import { startStorm } from './storm.ts';
import { hostileWorld, largeWorld, smallWorld } from './worlds.ts';

const worlds = { small: smallWorld, large: largeWorld, hostile: hostileWorld };
const name = process.argv[2] ?? 'small';
const make = Object.entries(worlds).find(([key]) => key === name)?.[1];
if (make === undefined) throw new Error(`There is no world ${name}: use one of ${Object.keys(worlds).join(', ')}.`);
const server = new PageServer({
  world: make(),
  folder: join(import.meta.dirname, '../../../web'),
  anonymous: 'operate',
  port: Number(process.env['PORT'] ?? 8440),
});
await server.start();
startStorm(server, name === 'large' ? 200 : 2);
console.log(`The page of the world ${name}: ${server.url}`);
