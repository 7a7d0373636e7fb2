// The whole matrix: every client that is installed, with every method and every form of body.
import { testClient } from '../support/clientMatrix.ts';
import { loadAxios, nodeFetch, nodeHttp, undici } from '../support/nodeClients.ts';
import { createCurl, createPythonClient } from '../support/programClients.ts';

const clients = [
  createCurl(),
  nodeFetch,
  nodeHttp,
  undici,
  await loadAxios(),
  createPythonClient('urllib'),
  createPythonClient('requests'),
  createPythonClient('httpx'),
];
for (const client of clients) testClient(client);
