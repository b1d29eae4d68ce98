//! `landing import`: files as other programs write them, with two people each.

use super::{stdout, without_server};

/// The program, its file, and the report and the list after the import.
struct Example {
    program: &'static str,
    file: &'static str,
    report: &'static str,
    times: [&'static str; 2],
}

const EXAMPLES: [Example; 10] = [
    Example {
        program: "Excel, German",
        file: "\u{feff}Name;E-Mail;Firma;Datum\r\n\
               Ann;ann@example.com;ACME;01.11.2026 14:05\r\n\
               Bob;bob@example.com;;15.11.2026\r\n",
        report: "column \"E-Mail\": addresses\n\
                 column \"Datum\": sign-up times\n\
                 ignored: \"Name\", \"Firma\"\n",
        times: ["2026-11-01T14:05:00", "2026-11-15T00:00:00"],
    },
    Example {
        program: "Google Forms, German",
        file: "\"Zeitstempel\",\"E-Mail-Adresse\",\"Warum interessiert dich Steward?\"\n\
               \"2026/11/01 2:05:23 PM MEZ\",\"ann@example.com\",\"weil, ja\"\n\
               \"2026/11/02 9:30:00 AM MEZ\",\"bob@example.com\",\"\"\n",
        report: "column \"E-Mail-Adresse\": addresses\n\
                 column \"Zeitstempel\": sign-up times\n\
                 ignored: \"Warum interessiert dich Steward?\"\n",
        times: ["2026-11-01T13:05:23", "2026-11-02T08:30:00"],
    },
    Example {
        program: "Typeform",
        file: "#,\"What's your email?\",Response Type,Start Date (UTC),Stage Date (UTC),Submit Date (UTC),Tags\n\
               k1,ann@example.com,completed,2026-11-01 14:05:00,,2026-11-01 14:06:11,\n\
               k2,bob@example.com,completed,2026-11-02 14:05:00,,2026-11-02 14:06:12,\n",
        report: "column \"What's your email?\": addresses\n\
                 column \"Submit Date (UTC)\": sign-up times\n\
                 ignored: \"#\", \"Response Type\", \"Start Date (UTC)\", \"Stage Date (UTC)\", \"Tags\"\n",
        times: ["2026-11-01T14:06:11", "2026-11-02T14:06:12"],
    },
    Example {
        program: "Mailchimp",
        file: "\"Email Address\",\"First Name\",MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,LAST_CHANGED,TAGS\n\
               ann@example.com,Ann,2,,,\"2026-11-01 14:05:23\",\"2026-11-20 14:05:23\",\"\"\"beta\"\"\"\n\
               bob@example.com,Bob,2,\"2026-11-02 09:30:00\",,\"2026-11-02 09:31:00\",\"2026-11-20 14:05:23\",\n",
        report: "column \"Email Address\": addresses\n\
                 column \"OPTIN_TIME\": sign-up times\n\
                 column \"CONFIRM_TIME\": sign-up times where \"OPTIN_TIME\" is empty\n\
                 ignored: \"First Name\", \"MEMBER_RATING\", \"OPTIN_IP\", \"LAST_CHANGED\", \"TAGS\"\n",
        times: ["2026-11-01T14:05:23", "2026-11-02T09:30:00"],
    },
    Example {
        program: "Substack",
        file: "Email,Name,Stripe plan,Cancel date,Start date,Emails opened (6mo),Country\n\
               ann@example.com,Ann,,,2026-11-01T14:05:00.000Z,3,DE\n\
               bob@example.com,Bob,,,2026-11-02T14:05:00.000Z,3,DE\n",
        report: "column \"Email\": addresses\n\
                 column \"Start date\": sign-up times\n\
                 ignored: \"Name\", \"Stripe plan\", \"Cancel date\", \"Emails opened (6mo)\", \"Country\"\n",
        times: ["2026-11-01T14:05:00", "2026-11-02T14:05:00"],
    },
    Example {
        program: "Brevo",
        file: "CONTACT ID;EMAIL;FIRSTNAME;SMS;EMAIL_BLACKLISTED;SMS_BLACKLISTED;ADDED_TIME;MODIFIED_TIME\n\
               1;ann@example.com;Ann;;0;0;01-11-2026 14:05:23;02-11-2026 10:00:00\n\
               2;bob@example.com;Bob;;0;0;15-11-2026 10:20:09;16-11-2026 10:20:09\n",
        report: "column \"EMAIL\": addresses\n\
                 column \"ADDED_TIME\": sign-up times (day/month/year)\n\
                 column \"EMAIL_BLACKLISTED\": imports \"0\"\n\
                 ignored: \"CONTACT ID\", \"FIRSTNAME\", \"SMS\", \"SMS_BLACKLISTED\", \"MODIFIED_TIME\"\n",
        times: ["2026-11-01T14:05:23", "2026-11-15T10:20:09"],
    },
    Example {
        program: "HubSpot",
        file: "Record ID,First Name,Email,Lead Status,Marketing contact status,Create Date,Last Activity Date\n\
               101,Ann,ann@example.com,,Marketing contact,2026-11-01 14:05,2026-11-05 14:05\n\
               102,Bob,bob@example.com,,Marketing contact,2026-11-02 14:05,\n",
        report: "column \"Email\": addresses\n\
                 column \"Create Date\": sign-up times\n\
                 column \"Marketing contact status\": imports \"Marketing contact\"\n\
                 ignored: \"Record ID\", \"First Name\", \"Lead Status\", \"Last Activity Date\"\n",
        times: ["2026-11-01T14:05:00", "2026-11-02T14:05:00"],
    },
    Example {
        program: "written by hand",
        file: "ann@example.com, 1.11.2026\n\nbob@example.com, 2.11.2026\n",
        report: "column 1: addresses\ncolumn 2: sign-up times\n",
        times: ["2026-11-01T00:00:00", "2026-11-02T00:00:00"],
    },
    Example {
        program: "a spreadsheet, with tabs",
        file: "Email\tName\tSigned up\n\
               ann@example.com\tAnn\t11/1/2026 2:05 PM\n\
               bob@example.com\tBob\t11/15/2026 9:30 AM\n",
        report: "column \"Email\": addresses\n\
                 column \"Signed up\": sign-up times (month/day/year)\n\
                 ignored: \"Name\"\n",
        times: ["2026-11-01T14:05:00", "2026-11-15T09:30:00"],
    },
    Example {
        program: "an app's database, as JSON lines",
        file: r#"{"email":"ann@example.com","created_at":1793541900,"plan":"free","profile":{"city":"Bonn"}}
{"email":"bob@example.com","created_at":1793628300,"plan":"free","profile":{"city":"Köln"}}
"#,
        report: "column \"email\": addresses\n\
                 column \"created_at\": sign-up times\n\
                 ignored: \"plan\", \"profile\"\n",
        times: ["2026-11-01T14:05:00", "2026-11-02T14:05:00"],
    },
];

#[test]
fn imports_the_files_of_other_programs() {
    for Example {
        program,
        file,
        report,
        times,
    } in EXAMPLES
    {
        let cli = without_server();
        let printed = stdout(&cli.run_with_input(&["import"], file).success());
        let counts = "2 added, 0 already there, 0 rejected\n";
        assert_eq!(printed, format!("{report}{counts}"), "{program}");
        let [ann, bob] = times;
        let expected = [
            format!("{ann}.000Z\tann@example.com"),
            format!("{bob}.000Z\tbob@example.com"),
        ];
        assert_eq!(cli.listed(), expected, "{program}");
    }
}
