import texts from "@messages/zh/messages.json";

/** ICU messages by kind of error and type of notice; the test of messages compares them with the server's. */
export const messages: { errors: Record<string, string>; notices: Record<string, string> } = texts;
