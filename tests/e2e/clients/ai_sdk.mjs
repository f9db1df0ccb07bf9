// One scenario of the Vercel AI SDK: node ai_sdk.mjs SCENARIO; prints what it saw as JSON. See test_ai_sdk.py.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const openai = createOpenAI({ baseURL: process.env.BASE_URL, apiKey: "any" });
const model = openai.responses(process.env.MODEL);
const add = tool({
  description: "Adds two numbers.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => ({ sum: a + b }),
});
const colour = Output.object({ schema: z.object({ name: z.string(), red: z.number() }) });
const common = { model, maxRetries: 0 };

async function read(result) {
  const kinds = [];
  const texts = [];
  const errors = [];
  for await (const part of result.fullStream) {
    kinds.push(part.type);
    if (part.type === "text-delta") texts.push(part.text);
    if (part.type === "error") errors.push(String(part.error?.message ?? part.error));
  }
  return { kinds, text: texts.join(""), errors };
}

const scenarios = {
  async generate() {
    const result = await generateText({ ...common, prompt: "Hi" });
    return { text: result.text, finish: result.finishReason, usage: result.usage };
  },
  async reasoning() {
    const options = { openai: { reasoningEffort: "high", reasoningSummary: "auto" } };
    const result = await generateText({ ...common, prompt: "Hi", providerOptions: options });
    return { text: result.text, reasoning: result.reasoningText };
  },
  async stream() {
    const result = streamText({ ...common, prompt: "Hi" });
    return { ...(await read(result)), finish: await result.finishReason, usage: await result.usage };
  },
  async tools() {
    const result = await generateText({ ...common, prompt: "Add.", tools: { add }, stopWhen: stepCountIs(4) });
    return { text: result.text, steps: result.steps.length, results: result.steps[0].toolResults.map((r) => r.output) };
  },
  async "stream-tools"() {
    const options = { openai: { store: false, include: ["reasoning.encrypted_content"] } };
    const result = streamText({
      ...common,
      prompt: "Add.",
      tools: { add },
      stopWhen: stepCountIs(4),
      providerOptions: options,
    });
    return { ...(await read(result)), steps: (await result.steps).length };
  },
  async object() {
    return (await generateText({ ...common, prompt: "A colour.", output: colour })).output;
  },
  async "stream-object"() {
    const result = streamText({ ...common, prompt: "A colour.", output: colour });
    const partial = [];
    for await (const part of result.partialOutputStream) partial.push(part);
    return { last: partial.at(-1), output: await result.output };
  },
  async forced() {
    const choice = { type: "tool", toolName: "add" };
    const result = await generateText({ ...common, prompt: "Add.", tools: { add }, toolChoice: choice });
    return { calls: result.toolCalls.map((call) => call.input) };
  },
  async picture() {
    const content = [
      { type: "text", text: "What is it?" },
      { type: "image", image: Buffer.from("picture"), mediaType: "image/png" },
    ];
    return { text: (await generateText({ ...common, messages: [{ role: "user", content }] })).text };
  },
  async chain() {
    const first = await generateText({ ...common, prompt: "I am Ann." });
    const previous = first.providerMetadata.openai.responseId;
    const options = { openai: { previousResponseId: previous } };
    return { text: (await generateText({ ...common, prompt: "Who am I?", providerOptions: options })).text };
  },
  async history() {
    const first = await generateText({ ...common, prompt: "Add.", tools: { add }, stopWhen: stepCountIs(4) });
    const messages = [
      { role: "user", content: "Add." },
      ...first.steps.flatMap((step) => step.response.messages),
      { role: "user", content: "And now?" },
    ];
    return { text: (await generateText({ ...common, messages, tools: { add } })).text };
  },
  async retry() {
    return { text: (await generateText({ model, prompt: "Hi", maxRetries: 2 })).text };
  },
  async refused() {
    try {
      await generateText({ ...common, prompt: "Hi" });
    } catch (error) {
      return { name: error.name, status: error.statusCode, message: error.message, retryable: error.isRetryable };
    }
    return {};
  },
};

console.log(JSON.stringify(await scenarios[process.argv[2]]()));
