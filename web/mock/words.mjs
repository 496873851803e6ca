/** What the mock's advisors say. One decision fits all of it: moving a studio from hours to subscriptions. */

export const DECISION =
  "Should our 14-person design studio stop billing by the hour and move every client to a fixed monthly subscription by March?";

const rubric = (a, b, c, d, e, f) => ({
  riskAppetite: { score: a, note: "How much it will stake." },
  evidence: { score: b, note: "What it needs to see first." },
  ambiguity: { score: c, note: "How long it can leave a question open." },
  intervention: { score: d, note: "How soon it speaks." },
  escalation: { score: e, note: "When it asks to stop." },
  deliveryVsRigour: { score: f, note: "Ship it, or prove it." },
});

export const PERSONAS = [
  {
    id: "the-devil-s-advocate",
    name: "The Devil's Advocate",
    role: "The Case Against It",
    contributionType: "challenger",
    rubric: rubric(3, 9, 3, 9, 7, 3),
  },
  {
    id: "the-strategist",
    name: "The Strategist",
    role: "Position and Sequence",
    contributionType: "integrator",
    rubric: rubric(6, 7, 8, 7, 4, 5),
  },
  {
    id: "the-pragmatist",
    name: "The Pragmatist",
    role: "What Works on Monday",
    contributionType: "challenger",
    rubric: rubric(4, 7, 3, 7, 5, 8),
  },
  {
    id: "the-coach",
    name: "The Coach",
    role: "Energy and Follow-through",
    contributionType: "sense-checker",
    rubric: rubric(6, 4, 6, 7, 3, 7),
  },
  {
    id: "the-mentor",
    name: "The Mentor",
    role: "Experience and Growth",
    contributionType: "sense-checker",
    rubric: rubric(4, 5, 7, 6, 3, 6),
  },
  {
    id: "the-visionary",
    name: "The Visionary",
    role: "The Long Horizon",
    contributionType: "integrator",
    rubric: rubric(8, 4, 9, 6, 2, 7),
  },
  {
    id: "the-analyst",
    name: "The Analyst",
    role: "Numbers and Base Rates",
    contributionType: "challenger",
    rubric: rubric(4, 9, 2, 6, 5, 3),
  },
  {
    id: "the-ethicist",
    name: "The Ethicist",
    role: "Who Bears the Cost",
    contributionType: "sense-checker",
    rubric: rubric(2, 6, 4, 6, 8, 3),
  },
];

export const SPEECH = {
  "the-devil-s-advocate": `You say *every* client, and you say *by March*. Those are two decisions wearing one coat, and neither has been argued.

A subscription moves the risk of a badly scoped month from the client to you. Under hourly billing a chaotic client pays for their chaos. Under a flat fee your team does. You have told me your three largest clients are also your least predictable ones, so the plan hands the discount to exactly the people who cost you most.

**What would have to be true for this to work?**

- Your median client uses less than they pay for, every quarter, and does not notice.
- The heavy users can be refused without leaving.
- Fourteen people can say no to a request that arrives on a Tuesday with a cheerful tone.

I have seen no evidence for any of the three. The honest test is cheap: take last year's invoices, price each month as if it had been a subscription, and count how many months you would have lost money. If you have not done that sum, you are not deciding. You are hoping.`,
  "the-strategist": `The question is less whether than **in which order**. A subscription is a position you hold, and positions are taken in sequence.

Three moves are on the table: change the price, change the promise, change the client list. You are proposing all three at once, on one date, which leaves you nothing to fall back on if the first goes badly.

1. Start with the promise. Define what a month *contains*, and run it on hourly terms for eight weeks so that you learn its real size.
2. Then the price, for new clients only. They have no old invoice to compare with.
3. Last the existing list, from the calmest client to the stormiest.

Watch the two rivals in your city. If one of them goes first, you lose the novelty but gain their mistakes; being second here costs very little. What would cost a great deal is a public reversal in May, because it tells every client that your prices are a mood.`,
  "the-pragmatist": `Let's talk about the second Monday in March.

A client on the new plan asks for a landing page, a deck and "a quick look at the logo". Who decides what comes first? If the answer is "the account lead uses judgement", you have a queue problem by Wednesday and an overtime problem by Friday.

Before you touch a single contract you need four dull things: a **request queue** everyone can see, a rule for how many requests are open at once, someone whose job is to say "next week", and a weekly number for hours spent per client. You already track hours. *Keep tracking them.* Stop showing them to clients, never to yourselves.

Try it with two clients, starting in two weeks. Not a pilot with a steering group; two clients, one page of terms, a review after the sixth week. If the queue holds, add two more.`,
  "the-coach": `I notice the energy in how you wrote this. *Stop* billing by the hour. That word has a history, and I would like you to say it out loud before you act on it. Is it the money that tires you, or the conversations about the money?

They need different remedies. If it is the conversations, a subscription will replace twelve small arguments about invoices with one large one about scope, and you will still have to be in the room for it.

So, two small commitments, this week:

- Ask each of your leads to name the one client they would *least* like on a flat fee, and why. Do not answer. Write it down.
- Pick the person who will own this after launch day. If you cannot name them by Friday, March is already a wish.

You are capable of this change. I want the version that you are still proud of in September.`,
  "the-mentor": `I have watched a few studios make this turn. The ones who did it well had something in common that never appears in the spreadsheets: they had already learned to finish things.

Hourly billing forgives a wandering project. It even pays for it. A subscription does not, and the first thing it shows you is which of your habits the clock was hiding. That is not an argument against. It may be the best reason *for*. But go in knowing that the first quarter is tuition.

A question for you: which of your people will be most afraid of this, and have you had a coffee with them? In my experience the senior designer who has quietly built a career on billable hours hears "subscription" as "your hours no longer count". Tell them what will count instead, before they hear it from someone else.

If it were mine, I would move slowly with clients and quickly with my own team.`,
  "the-visionary": `Look past March. In five years nobody will sell design by the hour, because the hour will mean nothing: the work that took you a week takes an afternoon, and a client who pays for time pays you *less* each time you get better.

So the direction is right, and I would even say it is late. What I would question is the smallness. A subscription to **what**? If it is a subscription to requests, you have built a vending machine with fourteen people inside. If it is a subscription to *judgement*, to having a studio that knows the company better each month, then the price can rise with every month that you stay.

Picture the client who has been with you for three years. What do you know about them that no newcomer could? Build the offer backwards from that. Then the deadline takes care of itself, because you will have something to announce and not just something to invoice.`,
  "the-analyst": `Here is what can be known from what you gave me.

Fourteen people at roughly 1,450 billable hours is about 20,300 hours a year. At 68 % utilisation, each point of utilisation is worth close to 300 hours. A flat fee usually costs **4 to 9 points** in the first two quarters, from unpriced requests alone; I would plan with 6. That is 1,800 hours, or a little more than one person's year.

The spread matters more than the mean. With nine clients, one heavy user at twice the expected volume removes the margin of three ordinary ones. Your variance is not diversified; it is concentrated.

What I do not have, and you should not decide without:

- hours per client *per month*, not per year
- the reasons for the last ten lost clients
- the share of revenue under contracts that cannot be re-priced before July

My confidence that all nine can be moved by March without a loss-making quarter: about 15 %.`,
  "the-ethicist": `Someone always pays for unpredictability. By the hour, it is the client. With a flat fee, it becomes whoever cannot refuse the work, and in a studio of fourteen that is rarely the founder.

So before the price list, I would ask for a promise to your own people: a ceiling on weekly hours that does not bend when a subscriber is loud, written where everybody can read it, with a name beside it.

Then your clients. Some will be better off with hourly terms, and you will know which ones. A small charity with four requests a year should not be moved to a monthly fee because it makes your forecast smoother. If you would be uncomfortable showing them the comparison, that is your answer for them.

I do not object to the change. I object to the word *every*.`,
};

export const REPLIES = [
  `That is fair, and it moves me a little. If you have already priced last year's months and only two of them lost money, then my central objection becomes a narrower one: not *whether* the fee covers the work, but what you do in those two months.

I would still want a written rule for it before the first contract is signed. Something a tired account lead can point to on a Tuesday.`,
  `I hear the point about momentum. But momentum is a reason to begin, not a reason to begin *everywhere*.

Two clients by March is also a launch. Nobody outside will know that it was not nine, and you keep the right to be wrong in private.`,
  `Then we agree on more than I thought. I withdraw the part about the deadline. I keep the part about the name beside the promise.`,
];

export const BRIEF = {
  consensus: {
    areas: [
      "The direction is sound: billing by the hour punishes the studio for getting faster.",
      "“Every client by March” bundles several decisions, and should be taken apart.",
      "Hours must still be tracked inside the studio, whatever clients are shown.",
    ],
    strength: "moderate",
  },
  tensions: [
    {
      between: ["The Visionary", "The Pragmatist"],
      issue: "Redesign the offer first, or run two clients on one page of terms in two weeks?",
      implication:
        "Starting small teaches you the queue but may fix the offer at “requests”, which is the version The Visionary warns about.",
    },
    {
      between: ["The Devil's Advocate", "The Mentor"],
      issue: "Is a loss-making first quarter a sign to stop, or the tuition?",
      implication:
        "Decide beforehand how large a loss ends the trial. Otherwise the number will be argued while it is happening.",
    },
    {
      between: ["The Analyst", "The Strategist", "The Coach"],
      issue: "How much has to be known before the first contract changes?",
      implication: "Hours per client and month can be had in a day; reasons for lost clients cannot.",
    },
  ],
  blindSpots: [
    "Nobody has asked a single client whether they want this.",
    "Contracts that cannot be re-priced before July may rule out March for a third of revenue.",
    "What happens to juniors who learn by over-working a project when over-work is no longer paid for.",
  ],
  recommendation: {
    summary:
      "Move to subscriptions, but not with everyone and not on one date. Put two calm clients on one page of terms now, new clients from March, and decide on the rest when six weeks of hours are on the table.",
    confidence: "moderate",
    conditions: [
      "Last year's months, re-priced as subscriptions, show no more than three losses in twelve.",
      "A named person owns the request queue and may say “next week”.",
      "A written ceiling on weekly hours exists before the first contract is signed.",
      "Clients for whom hourly terms are better keep them.",
    ],
  },
};

export const BRIEF_AFTER = {
  ...BRIEF,
  recommendation: {
    ...BRIEF.recommendation,
    summary:
      "Move to subscriptions in two steps. Your re-priced invoices answer the strongest objection, so begin with two calm clients now and new clients from March; write the rule for a loss-making month before either signs.",
    confidence: "high",
  },
};

export const QUESTIONS = [
  {
    id: "q1",
    question: "What made this urgent now: money, clients, or the team?",
    hint: "One sentence about the last time it hurt is enough.",
  },
  {
    id: "q2",
    question: "How predictable are your three largest clients from month to month?",
    hint: "Hours per month, if you have them.",
  },
  { id: "q3", question: "What would you do if a client refused the new terms?" },
  { id: "q4", question: "Who besides you has to believe in this for it to work?" },
];
